/**
 * The state of a reactor in the process that runs it. A reactor follows the events of the log and acts on them, such as
 * by sending a notification. Work that keeps failing becomes a dead letter, which this folder stores.
 */
export type RunningReactor = {
  readonly name: string;
  /** The name of the process, `host/pid/` and random characters; `this process` where processes divide no work. */
  readonly worker: string;
  /** The number of items of work that are not finished. */
  readonly waiting: number;
  /** The number of items of work that have failed at least once and are not given up; an attempt may be running. */
  readonly retrying: number;
  /** Milliseconds since the oldest item that is due now became due; 0 when none is due. */
  readonly lagMs: number;
};

/** The reactors of the deployment. */
export interface Reactors {
  /** The names of the known reactors, also of those that no process runs. */
  readonly names: readonly string[];
  /** The reason why no process may run a reactor; `undefined` when it may run. */
  muted(name: string): string | undefined;
  /**
   * Lists the reactors that run now; only those of this process where processes divide no work.
   *
   * @throws {StoreUnavailable} when the store of the leases cannot be reached.
   */
  running(): Promise<readonly RunningReactor[]>;
  /**
   * Reads the checkpoint of a reactor: the position of the log up to which its work is done or recorded as dead
   * letters; 0n when there is none.
   *
   * @throws {StoreUnavailable} when the store of the checkpoints cannot be reached.
   */
  position(name: string): Promise<bigint>;
}
