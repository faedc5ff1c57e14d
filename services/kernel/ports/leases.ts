/**
 * Leases: temporary ownership of work, so that no two workers do the same work. A lease is no fence: a worker that was
 * paused beyond the end of its lease continues to work until the store that it writes to rejects the write.
 *
 * Time is the store's own clock. A lease ends after {@link LEASE_MS} unless it is renewed.
 */
export interface Leases {
  /**
   * Takes the leases that are free, and renews those that the owner holds.
   *
   * @returns the leases of `names` that the owner holds now, in any order.
   * @throws {StoreUnavailable} when the store cannot be reached.
   */
  take(names: readonly string[], owner: string): Promise<readonly string[]>;

  /** The active leases whose names begin with `prefix`: the owner by the name of the lease. */
  held(prefix: string): Promise<ReadonlyMap<string, string>>;

  /** Attaches a text to a lease that the owner holds, for other workers to read while this owner holds it. */
  describe(name: string, owner: string, text: string): Promise<void>;

  /** The texts of the active leases whose names begin with `prefix`, by the name of the lease. */
  descriptions(prefix: string): Promise<ReadonlyMap<string, string>>;

  /** Ends the leases of `names` that the owner holds. */
  release(names: readonly string[], owner: string): Promise<void>;

  close(): Promise<void>;
}

/** The duration of a lease that is not renewed, in milliseconds. */
export const LEASE_MS = 5_000;
