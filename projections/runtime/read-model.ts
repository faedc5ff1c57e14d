import type { EventMetadata } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Collection, StoredDocument } from './read-store.js';

/** An event as projections see it: decoded, its large parts brought in. */
export type SeenEvent = {
  readonly type: string;
  /** The slice's own event. */
  readonly body: unknown;
  readonly stream: StreamName;
  readonly revision: bigint;
  readonly position: bigint;
  readonly metadata: EventMetadata;
};

/** A read model: which documents an event touches, and what it makes of each. Pure. */
export interface ReadModel<Document> {
  readonly collection: Collection;
  /** The types of the events that it follows. */
  readonly follows: readonly string[];
  /**
   * False for a model with documents that several streams feed. An event of one of them may be folded after later
   * events of the others, when its stream was parked; so the fold makes the same of a document in whatever order the
   * streams come.
   */
  readonly isFedByOneStream?: false;
  /** The keys of the documents that the event touches, each once; many for the end of an execution. */
  touches(event: SeenEvent): readonly string[];
  /** What the event makes of one document. May change the document that it is given; `undefined` leaves it absent. */
  fold(document: Document | undefined, event: SeenEvent, key: string): Document | undefined;
  /** The stored form of a document. */
  store(key: string, document: Document): Omit<StoredDocument, 'key' | 'position'>;
  /** The document of a stored form. */
  load(stored: StoredDocument): Document;
}

/** Whether a model has documents that several streams feed. */
export const isShared = ({ isFedByOneStream }: ReadModel<unknown>): boolean => isFedByOneStream === false;
