import type { Timing } from './membership.js';

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

export const nodeOptions = (text: string): NodeOptions => JSON.parse(text) as NodeOptions;
