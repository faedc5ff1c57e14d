import type { Disk } from './disk.js';

export type BenchOptions = {
  readonly disk: Disk;
  /** How many requests are measured; small in CI. */
  readonly count: number;
  /** For the server's Node, such as `--cpu-prof`. */
  readonly nodeArgs: readonly string[];
};

/** One figure beside its floor. */
export type Figure = {
  readonly name: string;
  readonly perSecond: number;
  readonly floor: { readonly what: string; readonly perSecond: number };
  readonly notes: Readonly<Record<string, number>>;
  /** Where it is not that of the bench. */
  readonly target?: number;
};

export type Bench = {
  readonly name: string;
  /** The least ratio to the floor; 0 where the figure has a limit of its own. */
  readonly target: number;
  readonly run: (options: BenchOptions) => Promise<readonly Figure[]>;
};
