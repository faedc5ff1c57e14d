import type { EventMetadata } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Collection, StoredDocument } from './read-store.js';

/** An event as read models receive it: decoded, with its large contents loaded. */
export type SeenEvent<Body = unknown> = {
  readonly type: string;
  /** The decoded event, of the type that the category's slice declares. */
  readonly body: Body;
  readonly stream: StreamName;
  readonly revision: bigint;
  readonly position: bigint;
  readonly metadata: EventMetadata;
};

/**
 * A read model as it is run: maps an event to the documents that it touches, and folds it into each. Its functions
 * depend on their arguments only. `readModel` makes one of handlers that are typed by their events.
 */
export interface ReadModel<Document> {
  readonly collection: Collection;
  /** Types of the events that the read model follows. */
  readonly follows: readonly string[];
  /**
   * False when several streams feed a document of the model. After a stream was parked, its events may be folded after
   * later events of the other streams, so the fold must give the same document whatever the order of the streams. It
   * must also give the same document when the last events of a stream are folded again, in order: when views are joined
   * to one group, a view may see events again that another view had parked.
   */
  readonly isFedByOneStream?: false;
  /** Keys of the documents that the event touches, each once. The end of an execution can touch many. */
  touches(event: SeenEvent): readonly string[];
  /**
   * Folds the event into one document, which it may change. `undefined` leaves the document as it was: an absent one
   * stays absent.
   */
  fold(document: Document | undefined, event: SeenEvent, key: string): Document | undefined;
  /**
   * The indexed fields of a document, for models whose documents are also searched in memory. By default they
   * are those of `encode`, which costs several times as much.
   */
  fields?(key: string, document: Document): StoredDocument['fields'];
  /** Encodes a document for the read store. */
  encode(key: string, document: Document): Omit<StoredDocument, 'key' | 'position'>;
  /** Decodes a document of the read store. */
  decode(stored: StoredDocument): Document;
}

/** True when several streams feed documents of the model. */
export const isFedBySeveral = ({ isFedByOneStream }: ReadModel<unknown>): boolean => isFedByOneStream === false;
