import { join } from 'node:path';
import { type Timing, TIMING } from './timeouts.js';

/** The options of a node process. */
export type NodeOptions = {
  readonly name: string;
  /** The path of the log file, which all nodes share. */
  readonly file: string;
  readonly port: number;
  /** The number of nodes of the cluster. */
  readonly size: number;
  readonly version: string;
  readonly timing: Timing;
};

/** A command to a node process. */
export type Command = {
  readonly id: number;
  readonly kind: 'lag' | 'mute' | 'speak' | 'isolate' | 'rejoin' | 'resign' | 'suspend';
  /** The argument of `lag`: milliseconds, or no new events at all. */
  readonly ms?: number | 'frozen';
};

const ALONE = { name: 'node-1', size: 1, version: '23.10.6' } as const;

/** Parses the arguments of the process: all options as JSON, or a directory and a port for a single server. */
export const nodeOptions = ([first = '', port = '0']: readonly string[]): NodeOptions =>
  first.startsWith('{')
    ? (JSON.parse(first) as NodeOptions)
    : { ...ALONE, file: join(first, 'log.db'), port: Number(port), timing: TIMING };
