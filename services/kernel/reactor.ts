/** Something that follows the log and acts on it. */
export interface Reactor {
  /** Rejects when the log could not be followed any further. */
  readonly ended: Promise<void>;
  /** Finishes what it is at, and keeps its checkpoint. */
  close(): Promise<void>;
}
