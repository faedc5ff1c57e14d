/**
 * Leases: temporary ownership of work, so that no two workers do the same. A lease does not fence: a worker that was
 * stopped past its lease and continues works on, until the store that it writes to refuses the write.
 *
 * Time is the store's own clock. A lease ends after {@link LEASE_MS} unless it is renewed.
 */
export interface Leases {
  /**
   * Takes the leases that are free, and renews those that the owner has.
   *
   * @returns the leases of `names` that the owner has now, in any order.
   * @throws {StoreUnavailable} when the store cannot be reached.
   */
  take(names: readonly string[], owner: string): Promise<readonly string[]>;

  /** The owner of each lease whose name begins with `prefix`, by the name of the lease, without those that have ended. */
  held(prefix: string): Promise<ReadonlyMap<string, string>>;

  /** Ends the leases of `names` that the owner has. */
  release(names: readonly string[], owner: string): Promise<void>;

  close(): Promise<void>;
}

/** The duration of a lease that is not renewed, in milliseconds. */
export const LEASE_MS = 5_000;
