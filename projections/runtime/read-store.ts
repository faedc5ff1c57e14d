/** A value of an indexed field. Times are whole microseconds since 1970, durations whole microseconds. */
export type FieldValue = string | number | null;

/**
 * Type of an indexed field. `integer` holds whole numbers up to 2^53. `pairs` holds a list of pairs of texts, encoded
 * by `pairsText`: the tags of an execution.
 */
export type FieldType = 'text' | 'integer' | 'real' | 'pairs';

/** Encodes pairs as the value of a field of type `pairs`; no pairs make an empty field (`null`). */
export const pairsText = (pairs: readonly (readonly [key: string, value: string])[]): string | null =>
  pairs.length === 0 ? null : JSON.stringify(pairs);

/** The documents of one read model. */
export type Collection = {
  /** The read model's name, such as `executions`. */
  readonly name: string;
  /** Raised when the meaning of a document changes: the new collection is built beside the old one. */
  readonly version: number;
  readonly fields: Readonly<Record<string, FieldType>>;
  /**
   * One index per shape of query: the fields in order, the last one being the sort field. The key follows implicitly.
   */
  readonly indexes: readonly (readonly string[])[];
  /**
   * Additional fields stored in an index, by the index's own fields joined with dots. Entries that do not match a
   * condition on them are skipped without reading the document. Not for fields that change more often than those of the
   * index.
   */
  readonly carried?: Readonly<Record<string, readonly string[]>>;
  /**
   * All values that a field can have, at most 16, ascending; for changing fields that precede the sort field of an
   * index. The values present at one moment are not enough: a document may take on another value before it is looked
   * up.
   */
  readonly values?: Readonly<Record<string, readonly FieldValue[]>>;
  /** Text fields that can be searched. */
  readonly searched?: readonly Searched[];
};

/** A searchable text field: finds the documents of a scope that contain a text, in an order. */
export type Searched = {
  /** The text field. */
  readonly field: string;
  /** The fields that a query binds to one value each. */
  readonly scope: readonly string[];
  /** The sort field: whole numbers or text, empty in no document. Like `field` and `scope`, its value never changes. */
  readonly sort: string;
  /** Set when no two documents have the same value of `sort`. */
  readonly isSortUnique?: true;
};

/** A document as it is stored. */
export type StoredDocument = {
  /** Unique in its collection, and the last sort of every query. */
  readonly key: string;
  /** Position of the highest event folded into the document; a replay of events at or below it changes nothing. */
  readonly position: bigint;
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** The response of the Get RPC, encoded as the interface's own message. */
  readonly response: Uint8Array;
  /** The element of a list response, where it differs from `response`. */
  readonly listElement?: Uint8Array;
  /** The state that the fold continues from, where `response` does not contain it. */
  readonly foldState?: Uint8Array;
};

/** A condition on one field. An empty field matches `= null` and no condition with a value. */
export type Condition =
  | { readonly field: string; readonly is: '=' | '<>' | '<' | '<=' | '>' | '>='; readonly value: FieldValue }
  | { readonly field: string; readonly is: 'in' | 'not in'; readonly values: readonly FieldValue[] }
  /** Substring, case-sensitive. */
  | { readonly field: string; readonly is: 'contains'; readonly value: string }
  /** The field contains all of these texts of three characters or more; an index of a searched field can find them. */
  | { readonly field: string; readonly is: 'contains all'; readonly texts: readonly string[] }
  /** `%` matches any text, `_` any one character, and a backslash escapes the next character; case-sensitive. */
  | { readonly field: string; readonly is: 'like' | 'not like'; readonly pattern: string }
  /** The field holds the key of a document of another collection that satisfies all of `where`. */
  | {
      readonly field: string;
      readonly is: 'key of';
      readonly collection: Collection;
      readonly where: readonly Condition[];
    }
  /**
   * At least one pair in the field satisfies all of `where`, in which the fields `key` and `value` name the halves of a
   * pair.
   */
  | { readonly field: string; readonly is: 'has pair'; readonly where: readonly Condition[] };

/** The position of a document in a sort order. */
export type PageCursor = { readonly value: FieldValue; readonly key: string };

/** One page of a collection. */
export type Query = {
  readonly where: readonly Condition[];
  /** Documents with the same value are sorted by key, in the same direction; empty values are the smallest. */
  readonly orderBy: { readonly field: string; readonly direction: 'ascending' | 'descending' };
  /** The page starts after this cursor. */
  readonly after?: PageCursor;
  /** Number of documents to skip; not together with `after`. */
  readonly offset?: number;
  readonly limit: number;
};

/** One page of results. */
export type Found = {
  /** `listElement` when there is one, else `response`, in order. */
  readonly elements: readonly Uint8Array[];
  /** Cursor of the last element; set when more documents follow. */
  readonly next?: PageCursor;
};

/** The number of documents with each value of a field. */
export type ValueCounts = ReadonlyMap<FieldValue, number>;

/** Number of index entries and documents that a query examined. */
export type QueryCost = {
  /** Index entries read. */
  readonly keys: number;
  /** Documents or rows read because the index does not have what the query needs. */
  readonly documents: number;
  /** Documents or values in the result. */
  readonly returned: number;
};

/** Position up to which a reader has processed a log. */
export type Checkpoint = { readonly logId: string; readonly position: bigint };

/**
 * The version that the writer believes to be stored under a key: nothing, or a document with this position and these
 * fields.
 */
export type ExpectedDocument = 'nothing' | Pick<StoredDocument, 'position' | 'fields'>;

/** A document to be written. */
export type DocumentWrite = {
  readonly collection: Collection;
  readonly document: StoredDocument;
  /** May save the store a read. It is only a hint: when the store holds another version, the stored version counts. */
  readonly before?: ExpectedDocument | undefined;
  /**
   * Set when only events were folded in that are not above the document's position, which another stream has set: the
   * document replaces a stored one of the same position too. The moves of checkpoints and parked streams in the same
   * batch ensure that this happens once.
   */
  readonly isLate?: true;
};

/** Moves one checkpoint, or deletes it. */
export type CheckpointMove = {
  readonly name: string;
  /** The value that the writer read; `undefined` when there was none. */
  readonly from: Checkpoint | undefined;
  /** `undefined` deletes the checkpoint. A batch that deletes checkpoints moves at least one other. */
  readonly to: Checkpoint | undefined;
};

/** Documents, and the checkpoints up to which they contain the log. */
export type WriteBatch = {
  readonly documents: readonly DocumentWrite[];
  /** One or more, with distinct names; none only for a temporary store. */
  readonly checkpoints: readonly CheckpointMove[];
  readonly parked?: readonly ParkedMove[];
};

/** A stream whose events these views cannot process from `position` on. */
export type ParkedStream = {
  /** The group of views that parks it, by the base name of its checkpoints: groups park streams independently. */
  readonly views: string;
  readonly stream: string;
  readonly position: bigint;
  readonly reason: string;
};

/** Parks a stream, moves the position from which it is parked, or unparks it. */
export type ParkedMove = Pick<ParkedStream, 'views' | 'stream'> & {
  /** The position that the writer read; `undefined` when the stream was not parked. */
  readonly from: bigint | undefined;
  /** `undefined` unparks the stream: it has caught up, or other views park it now, as after a takeover. */
  readonly to: Pick<ParkedStream, 'position' | 'reason'> | undefined;
};

/** The part of a read store that answers Gets and Lists. */
export type DocumentReads = Pick<ReadStore, 'get' | 'getMany' | 'find' | 'findDistinct' | 'parked'>;

/** Storage of the views. They can always be rebuilt from the log. */
export interface ReadStore {
  /** Number of this build of the views, which rebuilds create beside each other; absent counts as 0. */
  readonly build?: number;

  /**
   * Creates the collections and their indexes where they do not exist; a store that is being rebuilt gets its indexes
   * at the end, and one that is only read gets nothing.
   */
  prepare(collections: readonly Collection[]): Promise<void>;

  get(collection: Collection, key: string): Promise<StoredDocument | undefined>;

  /** Reads the documents that exist among the keys, in any order. */
  getMany(collection: Collection, keys: readonly string[]): Promise<readonly StoredDocument[]>;

  /**
   * Finds one page of documents.
   *
   * @throws {QueryTooSlow} when no full page is found within the query's time limit, or a filter has a text that is too
   * long for the store.
   */
  find(collection: Collection, query: Query): Promise<Found>;

  /**
   * Finds the distinct values of the field that the query sorts by, in order, without empty ones: names without
   * versions. Of `after` only the value counts, and `offset` skips values.
   *
   * @throws {QueryTooSlow} as `find`.
   */
  findDistinct(collection: Collection, query: Query): Promise<{ values: readonly FieldValue[]; hasMore: boolean }>;

  /**
   * Counts the documents that satisfy the conditions of a query by the values of the field `by`, without those where it
   * is empty. The order says which index is read; cursor, offset and limit do not count.
   *
   * @throws {QueryTooSlow} as `find`.
   */
  countBy(collection: Collection, query: Query, by: string): Promise<ValueCounts>;

  /** Runs a query (`find` by default) and reports what it examined instead of what it found. */
  examined(collection: Collection, query: Query, method?: 'find' | 'findDistinct'): Promise<QueryCost>;

  /** Counts the documents. Reads an index entry of each; on SQLite, the calling thread is blocked meanwhile. */
  count(collection: Collection): Promise<number>;

  /** Reads the checkpoints that exist among the names; by default all. */
  checkpoints(names?: readonly string[]): Promise<ReadonlyMap<string, Checkpoint>>;

  /**
   * Writes a batch atomically. A document stored at the same position (but see `isLate`) or a later one stays as it
   * is. A batch whose checkpoints stay where they are is one step of a larger change; the last step moves them.
   *
   * @throws {CheckpointMoved} when a checkpoint, or a parked stream, is not what the batch was made from.
   */
  write(batch: WriteBatch): Promise<void>;

  /** The parked streams, in the order of their positions. */
  parked(): Promise<readonly ParkedStream[]>;

  /** Deletes every document, checkpoint and parked stream. */
  clear(): Promise<void>;

  close(): Promise<void>;
}
