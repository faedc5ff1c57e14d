import { join } from 'node:path';
import { type Timing, TIMING } from './timeouts.js';

/** What a node is started with. */
export type NodeOptions = {
  readonly name: string;
  readonly file: string;
  readonly port: number;
  /** Nodes of the cluster. */
  readonly size: number;
  readonly version: string;
  readonly timing: Timing;
};

/** What a node is told to do. */
export type Command = {
  readonly id: number;
  readonly kind: 'lag' | 'mute' | 'speak' | 'isolate' | 'rejoin' | 'resign' | 'stand';
  /** Of `lag`. */
  readonly ms?: number | 'frozen';
};

const ALONE = { name: 'node-1', size: 1, version: '23.10.6' } as const;

/** Of one node: all of them as JSON, or a directory and a port for a server of its own. */
export const nodeOptions = ([first = '', port = '0']: readonly string[]): NodeOptions =>
  first.startsWith('{')
    ? (JSON.parse(first) as NodeOptions)
    : { ...ALONE, file: join(first, 'log.db'), port: Number(port), timing: TIMING };
