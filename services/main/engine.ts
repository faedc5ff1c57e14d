import { runEngine } from '../engine/engine.js';
import { openLogger } from './logger.js';
import { onStopSignals } from './stop-signals.js';

/** The flags of `engine`. */
export type EngineFlags = {
  readonly endpoint: string;
  readonly concurrency: number;
  readonly rate: number;
  readonly failureProbability: number;
  readonly seed: string;
  readonly gates: 'auto' | 'wait';
  readonly dynamic?: string;
  readonly untilIdle: boolean;
  readonly logLevel: string;
};

/** Runs executions until it is told to stop, or nothing is left to run; prints what it did as one JSON object. */
export const engine = async ({ dynamic, logLevel, ...flags }: EngineFlags): Promise<void> => {
  const logger = openLogger(logLevel);
  const stop = new AbortController();
  void onStopSignals().then(() => stop.abort());
  const options = { ...flags, ...(dynamic !== undefined && { dynamicDirectory: dynamic }) };
  const summary = await runEngine(options, { signal: stop.signal, logger });
  process.stdout.write(`${JSON.stringify({ ...summary, dropped: Object.fromEntries(summary.dropped) })}\n`);
  process.exit(0);
};
