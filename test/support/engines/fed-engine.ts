import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { QUICK_START } from '../processes/quick-start.js';
import type { EngineProcessOptions } from './engine-process.js';

const SCRIPT = fileURLToPath(new URL('engine-process.js', import.meta.url));

/** A simulated engine that gets its executions from the engine feed, in a process of its own. */
export type FedEngine = {
  readonly name: string;
  readonly child: ChildProcess;
  /** The attempts that it has reported as started, in their order, as `project/domain/execution/node/attempt`. */
  readonly started: () => readonly string[];
  /** The number of its events that were refused. */
  readonly refused: () => number;
  /** Executions that it had given up when it stopped, with the reason. */
  readonly dropped: () => readonly string[];
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** Starts an engine that joins the group `default`. */
export const startFedEngine = (options: EngineProcessOptions): FedEngine => {
  const child = spawn(process.execPath, [...QUICK_START, SCRIPT, JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = (kind: string): readonly string[] => {
    const text = existsSync(options.journal) ? readFileSync(options.journal, 'utf8') : '';
    const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    return whole.filter((line) => line.startsWith(kind)).map((line) => line.slice(kind.length + 1));
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return {
    name: options.name,
    child,
    started: () => lines('started'),
    refused: () => lines('refused').length,
    dropped: () => lines('dropped'),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
};
