import { documentCache, type Held } from './document-cache.js';
import { type Entry, isPoison } from './event-reader.js';
import { isShared, type ReadModel } from './read-model.js';
import type { Put, ReadStore } from './read-store.js';

/** An event that a view cannot take: the position of it, and why. */
export class PoisonEntry extends Error {
  readonly position: bigint;

  constructor(position: bigint, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'PoisonEntry';
    this.position = position;
  }
}

/** Folds events into documents. */
export type Folding = {
  /**
   * Folds entries into the documents that they touch.
   *
   * @throws {PoisonEntry} for the first entry that fails, after which the folding must be forgotten.
   */
  fold(entries: readonly Entry[]): Promise<void>;
  /** What is to be written: how many documents have changed, through how many bytes of events. */
  pending(): { readonly documents: number; readonly bytes: number };
  /**
   * What is to be written, each document once; nothing is pending afterwards.
   *
   * @throws {PoisonEntry} for a document that cannot be stored, after which the folding must be forgotten.
   */
  changes(): readonly Put[];
  /** Lets go of documents that were not touched lately; to be called when the changes are written. */
  trim(): void;
  /** Forgets every document in hand: what is stored counts. */
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

/** Makes a folding over a store, with so many bytes of stored forms in hand. */
export const folding = (store: ReadStore, maxBytes: number): Folding => {
  const cache = documentCache(store, maxBytes);
  const changed = new Set<Held>();
  let bytes = 0;

  const foldOne = ({ seen, touched, poison, isLate }: Entry): void => {
    if (!seen) throw poison;
    for (const { model, keys } of touched) {
      for (const key of keys) {
        const held = cache.hold(model, key);
        const isNew = seen.position > held.position || (isLate === true && isShared(model));
        if (!isNew) continue; // seen before: a replay changes nothing
        held.document = model.fold(held.document, seen, key) ?? held.document;
        held.last = seen.position;
        if (held.last > held.position) held.position = held.last;
        if (held.document !== undefined) changed.add(held);
      }
    }
  };

  const changeOf = (held: Held): Put => {
    const { model, key, position, last, before } = held;
    const { collection } = model;
    const form = model.store(key, held.document);
    cache.stored(held, form);
    const put: Put = { collection, document: { key, position, ...form }, before };
    return last < position ? { ...put, isLate: true } : put;
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
    pending: () => ({ documents: changed.size, bytes }),
    changes: () => {
      // What cannot be stored is blamed on the last event that it has seen; the one before is tried without it.
      const changes = [...changed].map((held) => attempt(held.last, () => changeOf(held)));
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
