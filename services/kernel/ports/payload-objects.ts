/** An object of a payload store, as who tidies the store sees it. */
export type PayloadObject = {
  /** Where it belongs, below the root of its store: `<scope>/<aa>/<sha256>`. */
  readonly path: string;
  /** The name that it was set aside under; absent for one that is where it belongs. */
  readonly aside?: string;
  readonly sizeBytes: number;
  /** When it was last put, or when it was set aside, in milliseconds since 1970. */
  readonly touchedAtMs: number;
};

/** What has become of an object that was to go. */
export type Dropped =
  | 'removed'
  /** It can still be read; it goes for good when it is dropped again after as long as it had to be old now. */
  | 'set-aside'
  /** It was put again meanwhile, or is no longer there. */
  | 'kept';

/** The objects of a payload store, for who tidies it while others read and write it. */
export interface PayloadObjects {
  /** All that are there, in pages; an object and what was set aside of it follow each other. Other files are left out. */
  list(): AsyncIterable<readonly PayloadObject[]>;

  /**
   * Lets an object go that nobody names, unless it was put again since the cutoff. Whoever puts the same content
   * meanwhile has it afterwards.
   *
   * @param cutoffMs in milliseconds since 1970.
   * @throws {StoreUnavailable} when it cannot be done.
   */
  drop(object: PayloadObject, cutoffMs: number): Promise<Dropped>;

  /**
   * Puts an object that is aside back where it belongs.
   *
   * @throws {StoreUnavailable} when it cannot be done.
   */
  restore(object: PayloadObject): Promise<void>;

  close(): Promise<void>;
}
