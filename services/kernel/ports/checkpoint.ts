/**
 * The position that a log reader has reached, kept across restarts. It may be behind the work done: events after it are
 * handled again after a restart, so handling must be idempotent.
 */
export interface Checkpoint {
  /**
   * The position up to which everything is done; 0n when none is stored for this log.
   *
   * @throws {StoreUnavailable} when it cannot be read now.
   */
  read(): Promise<bigint>;
  /** @throws {StoreUnavailable} when it cannot be written now; a later write may succeed. */
  write(position: bigint): Promise<void>;
}
