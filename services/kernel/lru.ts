/** A cache of bounded size that evicts the least recently used entries. */
export interface Lru<Key, Value> {
  get(key: Key): Value | undefined;
  /** Evicts the least recently used entries until the new one fits. A value larger than the bound is not kept. */
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
  // A map keeps the order of insertion: the first is the one used longest ago.
  const entries = new Map<Key, { readonly value: Value; readonly size: number }>();
  let total = 0;
  const remove = (key: Key): void => {
    total -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  };
  return {
    get: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set: (key, value, size = 1) => {
      remove(key);
      if (size > maxSize) return;
      entries.set(key, { value, size });
      total += size;
      for (const oldest of entries.keys()) {
        if (total <= maxSize) return;
        remove(oldest);
      }
    },
    delete: remove,
    size: () => total,
  };
};
