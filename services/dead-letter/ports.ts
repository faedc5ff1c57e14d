/** A reactor that a process runs. */
export type RunningReactor = {
  readonly name: string;
  /** The process, as `host/pid/…`; `this process` in a deployment without leases. */
  readonly worker: string;
  /** Work that is not finished. */
  readonly waiting: number;
  /** Work that has failed and is to be tried again. */
  readonly retrying: number;
  /** Milliseconds since the oldest unfinished work was due. */
  readonly lagMs: number;
};

/** The reactors of the deployment, in whatever process they run. */
export interface Reactors {
  /** Those that are listed even when no process runs them. */
  readonly names: readonly string[];
  /** Why no process may run a reactor; `undefined` for one that may run. */
  muted(name: string): string | undefined;
  /** @throws {StoreUnavailable} when the store of the leases cannot be reached. */
  running(): Promise<readonly RunningReactor[]>;
  /**
   * The checkpoint of a reactor; 0n where it keeps none.
   *
   * @throws {StoreUnavailable} when the store of the checkpoints cannot be reached.
   */
  position(name: string): Promise<bigint>;
}
