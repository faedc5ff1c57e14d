import type { ReadModel } from './read-model.js';
import type { ExpectedDocument, ReadStore, StoredDocument } from './read-store.js';

/** A cached document of one read model. */
export type CachedDocument = {
  readonly model: ReadModel<unknown>;
  readonly key: string;
  /** `undefined` when the document does not exist yet. */
  document: unknown;
  /** Position of the highest event folded into the document; -1n for none. */
  position: bigint;
  /**
   * Position of the event folded last. Below `position` when a stream that was parked is folded after later events of
   * other streams that feed the document.
   */
  last: bigint;
  /** The version that the store is known to hold under the key. */
  before: ExpectedDocument;
  /** Size of the stored form. */
  bytes: number;
};

/** Memory that a cache entry takes beside its document, including the indexed fields. */
const OVERHEAD_BYTES = 600;

const sizeOf = ({ response, listElement, foldState }: Omit<StoredDocument, 'key' | 'position'>): number =>
  response.length + (listElement?.length ?? 0) + (foldState?.length ?? 0);

/**
 * Least-recently-used cache of documents, bounded by size, so that hot documents are not read and decoded again for
 * every batch.
 */
export type DocumentCache = {
  /** Reads the documents from the store that are not cached yet. */
  load(model: ReadModel<unknown>, keys: readonly string[]): Promise<void>;
  /** Returns the cached document of a key that was loaded; adds an empty entry for one that the store does not have. */
  entry(model: ReadModel<unknown>, key: string): CachedDocument;
  /** Notes the form in which a document is about to be stored, and makes the document the most recently used. */
  stored(cached: CachedDocument, form: Omit<StoredDocument, 'key' | 'position'>): void;
  /** Evicts the least recently used documents until the cache is within its size. */
  trim(): void;
  clear(): void;
};

/**
 * Creates an empty cache over a store. `maxBytes` limits the stored size of the documents with 600 bytes for each; in
 * memory they take several times that.
 */
export const documentCache = (store: Pick<ReadStore, 'getMany'>, maxBytes: number): DocumentCache => {
  const models = new Map<ReadModel<unknown>, Map<string, CachedDocument>>();
  const order = new Set<CachedDocument>();
  let bytes = 0;

  const entriesOf = (model: ReadModel<unknown>): Map<string, CachedDocument> => {
    const entries = models.get(model) ?? new Map<string, CachedDocument>();
    models.set(model, entries);
    return entries;
  };
  const add = (cached: CachedDocument): CachedDocument => {
    entriesOf(cached.model).set(cached.key, cached);
    order.add(cached);
    bytes += cached.bytes + OVERHEAD_BYTES;
    return cached;
  };
  const drop = (cached: CachedDocument): void => {
    entriesOf(cached.model).delete(cached.key);
    order.delete(cached);
    bytes -= cached.bytes + OVERHEAD_BYTES;
  };

  return {
    load: async (model, keys) => {
      const entries = entriesOf(model);
      const missing = keys.filter((key) => !entries.has(key));
      if (missing.length === 0) return;
      for (const found of await store.getMany(model.collection, missing)) {
        const { key, position } = found;
        const before = { position, fields: found.fields };
        add({ model, key, document: model.decode(found), position, last: position, before, bytes: sizeOf(found) });
      }
    },
    entry: (model, key) =>
      entriesOf(model).get(key) ??
      add({ model, key, document: undefined, position: -1n, last: -1n, before: 'nothing', bytes: 0 }),
    stored: (cached, form) => {
      const size = sizeOf(form);
      cached.before = { position: cached.position, fields: form.fields };
      bytes += size - cached.bytes;
      cached.bytes = size;
      order.delete(cached);
      order.add(cached);
    },
    trim: () => {
      for (const cached of order) {
        if (bytes <= maxBytes) return;
        drop(cached);
      }
    },
    clear: () => {
      models.clear();
      order.clear();
      bytes = 0;
    },
  };
};
