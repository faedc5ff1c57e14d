/** A value of an indexed field. Times are whole microseconds since 1970, durations whole microseconds. */
export type FieldValue = string | number | null;

/**
 * `integer` holds whole numbers up to 2^53. `pairs` holds a list of pairs of texts, as `pairsText` writes it: the tags
 * of an execution.
 */
export type FieldType = 'text' | 'integer' | 'real' | 'pairs';

/** The value of a field of pairs; none is an empty field. */
export const pairsText = (pairs: readonly (readonly [key: string, value: string])[]): string | null =>
  pairs.length === 0 ? null : JSON.stringify(pairs);

/** The documents of one read model. */
export type Collection = {
  /** The read model's name, such as `executions`. */
  readonly name: string;
  /** Raised when the meaning of a document changes: the new collection grows beside the old. */
  readonly version: number;
  readonly fields: Readonly<Record<string, FieldType>>;
  /** The shapes that queries have: fields in order, the last one the sort; every one ends in the key by itself. */
  readonly indexes: readonly (readonly string[])[];
  /**
   * Fields that an index has besides, by its fields with dots between: what does not fit is passed over without a look
   * at its document. Not for fields that change more often than those of the index.
   */
  readonly carried?: Readonly<Record<string, readonly string[]>>;
  /**
   * Everything that a field may hold, at most 16 values, ascending: for the fields before the sort of an index that
   * change. The values that there are just now would miss a document that takes on another before it is looked for.
   */
  readonly values?: Readonly<Record<string, readonly FieldValue[]>>;
  /** The texts that are searched. */
  readonly searched?: readonly Searched[];
};

/** A text that is searched: the documents in which some text stands there, in an order. */
export type Searched = {
  /** The field of text. */
  readonly field: string;
  /** The fields that a query binds to one value each. */
  readonly scope: readonly string[];
  /** The order, a field of whole numbers or of text that no document has empty. Like the others it never changes. */
  readonly sort: string;
  /** No two documents have one place in the order. */
  readonly isUnique?: true;
};

/** A document as it is stored. */
export type StoredDocument = {
  /** Unique in its collection, and the last sort of every query. */
  readonly key: string;
  /** The position of the last event that this document has seen: an event at or below it changes nothing. */
  readonly position: bigint;
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** The answer of Get, encoded in the interface's own message. */
  readonly answer: Uint8Array;
  /** The element of a list, where it is another. */
  readonly element?: Uint8Array;
  /** What the fold goes on from, where `answer` does not hold it. */
  readonly state?: Uint8Array;
};

/** What a query wants of one field. An empty field fits `= null`, and no condition with a value. */
export type Condition =
  | { readonly field: string; readonly is: '=' | '<>' | '<' | '<=' | '>' | '>='; readonly value: FieldValue }
  | { readonly field: string; readonly is: 'in' | 'not in'; readonly values: readonly FieldValue[] }
  /** Substring, case counts. */
  | { readonly field: string; readonly is: 'contains'; readonly value: string }
  /** All of these stand in it, texts of three characters or more: what an index of a searched field can find. */
  | { readonly field: string; readonly is: 'has parts'; readonly parts: readonly string[] }
  /** `%` stands for any text, `_` for one character, and a backslash takes the next character as it is; case counts. */
  | { readonly field: string; readonly is: 'like' | 'not like'; readonly pattern: string }
  /** The field holds the key of a document of another collection for which all hold. */
  | {
      readonly field: string;
      readonly is: 'key of';
      readonly collection: Collection;
      readonly where: readonly Condition[];
    }
  /** One of the pairs in the field is such that all hold; its parts are the fields `key` and `value`. */
  | { readonly field: string; readonly is: 'has pair'; readonly where: readonly Condition[] };

/** The place of a document in an order. */
export type Cursor = { readonly value: FieldValue; readonly key: string };

/** One page of a collection. */
export type Query = {
  readonly where: readonly Condition[];
  /** Documents of one value are in the order of their keys, in the same direction; empty values are the smallest. */
  readonly orderBy: { readonly field: string; readonly direction: 'ascending' | 'descending' };
  /** What follows this place. */
  readonly after?: Cursor;
  /** Skip so many first; not together with `after`. */
  readonly offset?: number;
  readonly limit: number;
};

/** A page. */
export type Found = {
  /** `element` where there is one, else `answer`, in order. */
  readonly elements: readonly Uint8Array[];
  /** The place of the last one, when more follow. */
  readonly next?: Cursor;
};

/** What a store looked at to answer a query. */
export type Examined = {
  /** Entries of indexes. */
  readonly keys: number;
  /** Documents, or rows, that were read for what no index has. */
  readonly documents: number;
  /** Documents, or values, that the answer has. */
  readonly returned: number;
};

/** How far a reader of the log has come. */
export type Checkpoint = { readonly logId: string; readonly position: bigint };

/** What a writer knows to be stored under a key: nothing, or a document with this position and these fields. */
export type Before = 'nothing' | Pick<StoredDocument, 'position' | 'fields'>;

/** A document to be written. */
export type Put = {
  readonly collection: Collection;
  readonly document: StoredDocument;
  /** Spares the store a look; where it finds something else, what it finds counts. */
  readonly before?: Before | undefined;
  /**
   * It has taken in an event below its position, of a stream that was parked: written over what is stored at the same
   * position too. The move of the parked stream in the same batch keeps that from happening twice.
   */
  readonly isLate?: true;
};

/** Where a checkpoint moves. */
export type CheckpointMove = {
  readonly name: string;
  /** The value that the worker read; `undefined` when there was none. */
  readonly from: Checkpoint | undefined;
  readonly to: Checkpoint;
};

/** Documents and the checkpoints that they stand for. */
export type WriteBatch = {
  readonly documents: readonly Put[];
  /** One or more, each of another name. */
  readonly checkpoints: readonly CheckpointMove[];
  readonly parked?: readonly ParkedMove[];
};

/** A stream that these views cannot go on with, from the event at `position` on. */
export type ParkedStream = {
  /** The views, by the name of their checkpoints: those of two releases park each their own. */
  readonly views: string;
  readonly stream: string;
  readonly position: bigint;
  readonly reason: string;
};

/** Parks a stream, moves the position from which it is parked, or ends that. */
export type ParkedMove = Pick<ParkedStream, 'views' | 'stream'> & {
  /** The position that the worker read; `undefined` when the stream was not parked. */
  readonly from: bigint | undefined;
  /** `undefined` when the stream has been caught up. */
  readonly to: Pick<ParkedStream, 'position' | 'reason'> | undefined;
};

/** Where views are kept. They can always be built again from the log. */
export interface ReadStore {
  /** Which it is of the builds that a rebuild grows beside each other; 0 where it does not say. */
  readonly build?: number;

  /** Makes the collections and their indexes where they are not there yet. */
  prepare(collections: readonly Collection[]): Promise<void>;

  get(collection: Collection, key: string): Promise<StoredDocument | undefined>;

  /** The documents that exist among the keys, in any order. */
  getMany(collection: Collection, keys: readonly string[]): Promise<readonly StoredDocument[]>;

  /**
   * @throws {QueryTooSlow} when no full page could be found in the time that a query has.
   */
  find(collection: Collection, query: Query): Promise<Found>;

  /**
   * The values of the field that the query sorts by, in order, each once, without empty ones: names without versions.
   * Of `after` only the value counts, and `offset` skips values.
   *
   * @throws {QueryTooSlow} as `find`.
   */
  findDistinct(collection: Collection, query: Query): Promise<{ values: readonly FieldValue[]; hasMore: boolean }>;

  /** Answers a query, and says what that took instead of what was found; of `find` where no method is named. */
  examined(collection: Collection, query: Query, method?: 'find' | 'findDistinct'): Promise<Examined>;

  /** How many documents there are; walks them all, so not for the thread that serves requests while it does. */
  count(collection: Collection): Promise<number>;

  /** Those that there are of these names. */
  checkpoints(names: readonly string[]): Promise<ReadonlyMap<string, Checkpoint>>;

  /**
   * Writes all of a batch or nothing. A document that is stored with the same position or a later one stays as it is.
   * A checkpoint that moves to where it was makes a part of a larger change, which its last part completes.
   *
   * @throws {CheckpointMoved} when a checkpoint, or a parked stream, is not what the batch was made from.
   */
  write(batch: WriteBatch): Promise<void>;

  /** The parked streams, in the order of their positions. */
  parked(): Promise<readonly ParkedStream[]>;

  /** Forgets every document, checkpoint and parked stream. */
  clear(): Promise<void>;

  close(): Promise<void>;
}
