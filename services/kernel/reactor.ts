/** A component that follows the log and acts on its events. */
export interface Reactor {
  /** Resolves after `close`; rejects when the log cannot be followed any further. */
  readonly ended: Promise<void>;
  /** Finishes the work in hand and writes the checkpoint. */
  close(): Promise<void>;
}
