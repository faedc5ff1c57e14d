import { lru } from '../kernel/lru.js';

/** A value and its approximate memory, in bytes. */
export type Sized<Value> = { readonly value: Value; readonly bytes: number };

/** A cache of immutable values. */
export type ImmutableCache = {
  /** Returns the cached value of a key, or reads it. A key must always be used with the same type of value. */
  readonly get: <Value>(key: string, read: () => Promise<Sized<Value> | undefined>) => Promise<Value | undefined>;
  /** The size of the cached values, in bytes. */
  readonly bytes: () => number;
};

/**
 * Makes a cache of immutable values. Concurrent calls for one key share one read. Missing values and failed reads are
 * not cached.
 */
export const immutableCache = (maxBytes: number): ImmutableCache => {
  const memory = lru<string, unknown>(maxBytes);
  const reading = new Map<string, Promise<unknown>>();
  const keep = (key: string, found: Sized<unknown> | undefined): unknown => {
    if (found !== undefined) memory.set(key, found.value, found.bytes);
    return found?.value;
  };
  const answer = (key: string, read: () => Promise<Sized<unknown> | undefined>): Promise<unknown> => {
    const now = reading.get(key);
    if (now !== undefined) return now;
    const next = read()
      .then((found) => keep(key, found))
      .finally(() => reading.delete(key));
    reading.set(key, next);
    return next;
  };
  return {
    get: <Value>(key: string, read: () => Promise<Sized<Value> | undefined>) => {
      const known = memory.get(key);
      return (known === undefined ? answer(key, read) : Promise.resolve(known)) as Promise<Value | undefined>;
    },
    bytes: () => memory.size(),
  };
};
