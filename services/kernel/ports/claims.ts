/**
 * Who works on what, so that no two do the same. A claim is a promise and no more: a worker that was stopped and goes on
 * works on what is no longer his, until what he writes to refuses it.
 *
 * Time is the store's own: claims are held for some seconds, and renewed.
 */
export interface Claims {
  /**
   * Takes those that nobody has, and renews those that the owner has.
   *
   * @returns those that the owner has now, of the ones named, in any order.
   * @throws {StoreUnavailable} when the store cannot be asked.
   */
  take(names: readonly string[], owner: string): Promise<readonly string[]>;

  /** Who has what, of the claims whose names begin so; what has run out is not among them. */
  held(prefix: string): Promise<ReadonlyMap<string, string>>;

  /** Gives back what the owner has of these. */
  release(names: readonly string[], owner: string): Promise<void>;

  close(): Promise<void>;
}

/** How long a claim holds that is not renewed, in milliseconds. */
export const CLAIM_MS = 5_000;
