import type { Disk } from './disk.js';

export type BenchOptions = {
  readonly disk: Disk;
  /** Number of requests to measure; a bench may use a fraction or a multiple of it. Small in CI. */
  readonly count: number;
  /** Arguments for the Node.js of servers and commands, such as `--cpu-prof`; not every bench passes them on. */
  readonly nodeArgs: readonly string[];
};

/** A measured rate with the rate that it is compared with. */
export type Figure = {
  readonly name: string;
  readonly perSecond: number;
  readonly baseline: { readonly what: string; readonly perSecond: number };
  readonly notes: Readonly<Record<string, number>>;
  /** Target ratio of this figure, where it differs from that of the bench. */
  readonly target?: number;
};

/** A measured value, with the limit that it has to keep if there is one: at most, or at least, a value in `unit`. */
export type Limited = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly limit?: { readonly kind: 'most' | 'least'; readonly value: number };
};

export type Bench = {
  readonly name: string;
  /** Smallest accepted ratio to the baseline; 0 for no target, or where the bench checks a limit of its own. */
  readonly target: number;
  /** True for a bench that runs only when it is named: one that waits for a minute of the clock or needs a browser. */
  readonly onlyByName?: boolean;
  readonly run: (options: BenchOptions) => Promise<readonly (Figure | Limited)[]>;
};
