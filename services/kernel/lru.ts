import { RecencyMap } from './recency-map.js';

/** A cache of bounded size that evicts the least recently used entries. */
export interface Lru<Key, Value> {
  get(key: Key): Value | undefined;
  /**
   * Evicts the least recently used entries until the new one fits. A value larger than the bound is not kept, and its
   * key then has none.
   */
  set(key: Key, value: Value, size?: number): void;
  delete(key: Key): void;
  /** Total size of all entries. */
  size(): number;
}

/**
 * Opens an empty cache whose entries have a total size of at most `maxSize`; a value counts 1 unless `set` gives a
 * size.
 */
export const lru = <Key, Value>(maxSize: number): Lru<Key, Value> => {
  const entries = new RecencyMap<Key, { readonly value: Value; readonly size: number }>();
  let total = 0;
  const remove = (key: Key): void => {
    total -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  };
  return {
    get: (key) => entries.use(key)?.value,
    set: (key, value, size = 1) => {
      remove(key);
      if (size > maxSize) return;
      entries.set(key, { value, size });
      total += size;
      for (let oldest = entries.oldest(); oldest && total > maxSize; oldest = entries.oldest()) remove(oldest.key);
    },
    delete: remove,
    size: () => total,
  };
};
