import { Fault, StreamParked } from '../../services/kernel/fault.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { documentCache, type CachedDocument } from './document-cache.js';
import { type Entry, isPoison } from './event-reader.js';
import { isFedBySeveral, type ReadModel } from './read-model.js';
import type { DocumentWrite, ReadStore, StoredDocument } from './read-store.js';
import { errorText } from '../../services/kernel/error-text.js';

/** An event that cannot be read, folded or stored, with its position and the cause. */
export class PoisonEntry extends Error {
  readonly position: bigint;

  constructor(position: bigint, cause: unknown) {
    super(errorText(cause), { cause });
    this.name = 'PoisonEntry';
    this.position = position;
  }
}

/**
 * The error of a read that folds a stream: {@link StreamParked} for an event that cannot be folded, where the projector
 * parks the stream too; any other error as it is. The text of an error that is no fault is for the server's output, so
 * callers get a reason without it.
 */
export const parkedBy = (stream: StreamName, error: unknown): unknown => {
  if (!(error instanceof PoisonEntry)) return error;
  const reason = error.cause instanceof Fault ? error.message : 'it cannot be folded';
  return new StreamParked(stream, error.position, error, reason);
};

/** A changed document that has not been written. */
export type HeldDocument = Pick<CachedDocument, 'model' | 'key' | 'position' | 'last' | 'document'>;

/** Folds events into documents. */
export type Folding = {
  /**
   * Folds entries into the documents that they touch.
   *
   * @throws {PoisonEntry} for the first entry that fails; the caller must call `forget()` before going on.
   */
  fold(entries: readonly Entry[]): Promise<void>;
  /**
   * The changes that have not been written: number of changed documents, and bytes of the events that were folded since
   * the last write.
   */
  pending(): { readonly documents: number; readonly bytes: number };
  /** The documents that have not been written. */
  held(): readonly HeldDocument[];
  /**
   * Takes the pending changes, each document once; nothing is pending afterwards.
   *
   * @throws {PoisonEntry} for a document that cannot be stored; the caller must call `forget()` before going on.
   */
  changes(): readonly DocumentWrite[];
  /** Evicts documents that were not touched lately. To be called once the changes are written. */
  trim(): void;
  /** Drops every cached document and pending change; documents are read from the store again. */
  forget(): void;
};

const keysByModel = (entries: readonly Entry[]): Map<ReadModel<unknown>, Set<string>> => {
  const keys = new Map<ReadModel<unknown>, Set<string>>();
  for (const { touched } of entries) {
    for (const each of touched) {
      const known = keys.get(each.model) ?? new Set();
      keys.set(each.model, known);
      for (const key of each.keys) known.add(key);
    }
  }
  return keys;
};

const attempt = <Result>(position: bigint, work: () => Result): Result => {
  try {
    return work();
  } catch (error) {
    if (!isPoison(error)) throw error;
    throw new PoisonEntry(position, error);
  }
};

/** @throws {PoisonEntry} for a document that cannot be stored. */
export const storedDocumentOf = ({ model, key, position, last, document }: HeldDocument): StoredDocument =>
  // The document is blamed on the last event folded into it; a retry stops before that event.
  attempt(last, () => ({ key, position, ...model.encode(key, document) }));

/** The indexed fields of a document that has not been written. */
export const indexedFieldsOf = ({ model, key, document }: HeldDocument): StoredDocument['fields'] =>
  model.fields?.(key, document) ?? model.encode(key, document).fields;

/** Creates a folding over a store; `maxBytes` limits the stored size of the documents that it caches. */
export const folding = (store: Pick<ReadStore, 'getMany'>, maxBytes: number): Folding => {
  const cache = documentCache(store, maxBytes);
  const changed = new Set<CachedDocument>();
  let bytes = 0;

  // The position of a document that several streams feed says nothing of one stream: another release may have folded
  // later events of the others while it had parked this one. Such a model folds an event again to the same document.
  const foldOne = ({ seen, touched, poison }: Entry): void => {
    if (!seen) throw poison;
    for (const { model, keys } of touched) {
      for (const key of keys) {
        const cached = cache.entry(model, key);
        const isNew = seen.position > cached.position || isFedBySeveral(model);
        if (!isNew) continue; // already folded: a replay changes nothing
        cached.document = model.fold(cached.document, seen, key) ?? cached.document;
        cached.last = seen.position;
        if (cached.last > cached.position) cached.position = cached.last;
        if (cached.document !== undefined) changed.add(cached);
      }
    }
  };

  const changeOf = (cached: CachedDocument): DocumentWrite => {
    const { model, position, before } = cached;
    const document = storedDocumentOf(cached);
    cache.stored(cached, document);
    const put: DocumentWrite = { collection: model.collection, document, before };
    return before !== 'nothing' && before.position === position ? { ...put, isLate: true } : put;
  };

  const nothingPends = (): void => {
    changed.clear();
    bytes = 0;
  };

  return {
    fold: async (entries) => {
      for (const [model, keys] of keysByModel(entries)) await cache.load(model, [...keys]);
      for (const entry of entries) {
        attempt(entry.event.position, () => foldOne(entry));
        bytes += entry.bytes;
      }
    },
    held: () => [...changed],
    pending: () => ({ documents: changed.size, bytes }),
    changes: () => {
      const changes = [...changed].map(changeOf);
      nothingPends();
      return changes;
    },
    trim: () => cache.trim(),
    forget: () => {
      nothingPends();
      cache.clear();
    },
  };
};
