/**
 * Where a reader of the log has come to, kept between starts. It may be behind what was done: what follows it is done
 * again, and has to come to the same.
 */
export interface Checkpoint {
  /** The position up to which everything is done; 0n when nothing is kept of this log. */
  read(): Promise<bigint>;
  write(position: bigint): Promise<void>;
}
