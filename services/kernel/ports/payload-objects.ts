/** An object of a payload store, as the cleanup of unreferenced payloads sees it. */
export type PayloadObject = {
  /** Its path below the root of the store: `<scope>/<aa>/<sha256>`. */
  readonly path: string;
  /** The name that it has in quarantine; absent for an object that is in its regular place. */
  readonly quarantinedAs?: string;
  readonly sizeBytes: number;
  /** Time of the last put or, in an object store, the last put, quarantine or restore; milliseconds since 1970. */
  readonly touchedAtMs: number;
};

/** Result of dropping an object. */
export type Dropped =
  | 'removed'
  /** Quarantined: it can still be read. A later drop, whose cutoff is after the quarantine, removes it permanently. */
  | 'quarantined'
  /** It was touched at or after the cutoff, or is no longer there. */
  | 'kept';

/** Access to the objects of a payload store for their cleanup, while others read and write them. */
export interface PayloadObjects {
  /**
   * Lists all objects in pages; an object and its quarantined copies are adjacent. Other files are omitted.
   *
   * @throws {StoreUnavailable} when they cannot be listed.
   */
  list(): AsyncIterable<readonly PayloadObject[]>;

  /**
   * Drops an object that no event refers to, unless it was touched at or after the cutoff, also since it was listed.
   * When the same content is put concurrently, it is in the store afterwards.
   *
   * @param cutoffMs in milliseconds since 1970.
   * @throws {StoreUnavailable} when the object cannot be dropped.
   */
  drop(object: PayloadObject, cutoffMs: number): Promise<Dropped>;

  /**
   * Moves a quarantined object back to its regular place.
   *
   * @throws {StoreUnavailable} when the object cannot be moved.
   */
  restore(object: PayloadObject): Promise<void>;

  close(): Promise<void>;
}
