import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Logger } from 'pino';
import { type ControlPlane, openChannel } from '../../engine/control-plane.js';
import { runEngine } from '../../engine/engine.js';
import { openLogger } from '../main/logger.js';
import { controlPlaneOf } from './control-plane.js';
import { SAMPLE_GRAPHS } from './sandbox/samples.js';
import { onStopSignals } from './stop-signals.js';
import { printSummary } from './summary.js';
import { OperatorError } from '../config/operator-errors.js';

/** The flags of `engine`; `withEngineFlags` describes each. */
export type EngineFlags = {
  readonly endpoint: string;
  readonly tls: boolean;
  readonly caFile?: string;
  readonly tokenFile?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly tokenUrl?: string;
  readonly concurrency: number;
  readonly rate: number;
  readonly failureProbability: number;
  readonly seed: string;
  readonly gates: 'auto' | 'wait';
  readonly dynamic?: string;
  readonly group: string;
  readonly name?: string;
  readonly poll: boolean;
  readonly untilIdle: boolean;
  readonly logLevel: string;
};

const assertFolder = (folder: string): void => {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new OperatorError(`--dynamic ${folder}: there is no such directory`);
};

const CONNECT_TIMEOUT_MS = 3_000;

/** Logs whether the control plane can be reached: the engine itself waits for it without a limit, and silently. */
const logReachability = (plane: ControlPlane, logger: Logger): void => {
  const { endpoint } = plane;
  const client = openChannel(plane);
  client.waitForReady(Date.now() + CONNECT_TIMEOUT_MS, (error) => {
    client.close();
    if (error) logger.warn({ endpoint }, 'no control plane answers yet; the engine goes on trying');
    else logger.info({ endpoint }, 'running what is launched');
  });
};

/**
 * Runs executions until a stop signal, or with `untilIdle` until nothing is left to run. Prints a summary as one JSON
 * object.
 */
export const engine = async ({ dynamic, logLevel, group, name, poll, ...flags }: EngineFlags): Promise<void> => {
  if (dynamic !== undefined) assertFolder(dynamic);
  const logger = openLogger(logLevel);
  const stop = new AbortController();
  void onStopSignals().then(() => stop.abort());
  const plane = controlPlaneOf(
    { caFile: '', tokenFile: '', clientId: '', clientSecretFile: '', tokenUrl: '', ...flags },
    logger,
  );
  logReachability(plane, logger);
  const feed = poll ? undefined : { group, name: name ?? `simulated-${randomUUID()}` };
  const options = { ...flags, ...plane, tls: plane.tls, feed, dynamicDirectory: dynamic ?? SAMPLE_GRAPHS };
  const summary = await runEngine(options, { signal: stop.signal, logger });
  printSummary({ ...summary, dropped: Object.fromEntries(summary.dropped) });
  process.exit(0);
};
