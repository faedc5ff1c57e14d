import { lru } from '../kernel/lru.js';

/** Something that was read, and roughly what it takes in memory, in bytes. */
export type Sized<Value> = { readonly value: Value; readonly bytes: number };

/** A memory for what never changes once it is there. */
export type Remembered = {
  /** Answers what is remembered under a key, and reads it when it is not. One key always has one type of value. */
  readonly get: <Value>(key: string, read: () => Promise<Sized<Value> | undefined>) => Promise<Value | undefined>;
  /** What it holds, in bytes. */
  readonly bytes: () => number;
};

/**
 * Opens a memory for what never changes once it is there. Those who ask at the same time share one read; what is not
 * there, or could not be read, is asked for again.
 */
export const remembering = (maxBytes: number): Remembered => {
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
