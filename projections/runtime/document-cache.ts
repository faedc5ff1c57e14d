import type { ReadModel } from './read-model.js';
import type { Before, ReadStore, StoredDocument } from './read-store.js';

/** A document in hand. */
export type Held = {
  readonly model: ReadModel<unknown>;
  readonly key: string;
  /** `undefined` when there is none yet. */
  document: unknown;
  /** The highest event that it has seen; -1n for none. */
  position: bigint;
  /** The event that was folded last; below the highest when it came late. */
  last: bigint;
  /** What is stored of it. */
  before: Before;
  /** The size of its stored form. */
  bytes: number;
};

/** What an entry costs beside its document, with the fields that are stored. */
const OVERHEAD_BYTES = 600;

const sizeOf = ({ answer, element, state }: Omit<StoredDocument, 'key' | 'position'>): number =>
  answer.length + (element?.length ?? 0) + (state?.length ?? 0);

/** The documents that were touched last, up to a size, so that hot ones are not read and decoded again and again. */
export type DocumentCache = {
  /** Brings in what is not there yet. */
  load(model: ReadModel<unknown>, keys: readonly string[]): Promise<void>;
  /** One that was loaded, or that there is none of yet. */
  hold(model: ReadModel<unknown>, key: string): Held;
  /** Notes the stored form; the document is the most recently used then. */
  stored(held: Held, form: Omit<StoredDocument, 'key' | 'position'>): void;
  /** Lets go of the least recently used above the size. */
  trim(): void;
  clear(): void;
};

/** Makes an empty cache over a store; `maxBytes` counts stored forms, which take several times that in memory. */
export const documentCache = (store: ReadStore, maxBytes: number): DocumentCache => {
  const models = new Map<ReadModel<unknown>, Map<string, Held>>();
  const order = new Set<Held>();
  let bytes = 0;

  const entriesOf = (model: ReadModel<unknown>): Map<string, Held> => {
    const entries = models.get(model) ?? new Map<string, Held>();
    models.set(model, entries);
    return entries;
  };
  const add = (held: Held): Held => {
    entriesOf(held.model).set(held.key, held);
    order.add(held);
    bytes += held.bytes + OVERHEAD_BYTES;
    return held;
  };
  const drop = (held: Held): void => {
    entriesOf(held.model).delete(held.key);
    order.delete(held);
    bytes -= held.bytes + OVERHEAD_BYTES;
  };

  return {
    load: async (model, keys) => {
      const entries = entriesOf(model);
      const missing = keys.filter((key) => !entries.has(key));
      if (missing.length === 0) return;
      for (const found of await store.getMany(model.collection, missing)) {
        const { key, position } = found;
        const before = { position, fields: found.fields };
        add({ model, key, document: model.load(found), position, last: position, before, bytes: sizeOf(found) });
      }
    },
    hold: (model, key) =>
      entriesOf(model).get(key) ??
      add({ model, key, document: undefined, position: -1n, last: -1n, before: 'nothing', bytes: 0 }),
    stored: (held, form) => {
      const size = sizeOf(form);
      held.before = { position: held.position, fields: form.fields };
      bytes += size - held.bytes;
      held.bytes = size;
      order.delete(held);
      order.add(held);
    },
    trim: () => {
      for (const held of order) {
        if (bytes <= maxBytes) return;
        drop(held);
      }
    },
    clear: () => {
      models.clear();
      order.clear();
      bytes = 0;
    },
  };
};
