/// <reference lib="es2024.sharedmemory" />
import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** The end of the log as a reader sees it move. */
export type LogHead = {
  /** Position of the last committed event; 0 in an empty log. */
  position(): number;
  /** Calls at every move until the function that it answers is called; keeps the process alive meanwhile. */
  onMove(listener: () => void): () => void;
};

/** Position of the head, and how often it was published. */
const POSITION = 0;
const COMMITS = 1;

/** A listener looks by itself this often, should a wake-up be lost; no reader waits for it. */
const FALLBACK_MS = 1_000;

/** Memory for a head that threads share. */
export const sharedHead = (): SharedArrayBuffer => new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT);

/** Publishes the head to all threads after a commit. */
export const publishHead = (shared: SharedArrayBuffer, position: number): void => {
  const cells = new BigInt64Array(shared);
  Atomics.add(cells, COMMITS, 1n);
  Atomics.store(cells, POSITION, BigInt(position));
  Atomics.notify(cells, POSITION);
};

/** Transactions that the writer has ended, its opening of the log included. */
export const publishedTimes = (shared: SharedArrayBuffer): number =>
  Number(Atomics.load(new BigInt64Array(shared), COMMITS));

const callAll = (listeners: ReadonlySet<() => void>): void => {
  for (const listener of listeners) listener();
};

/** The head that the writer of this process publishes. */
export const headInMemory = (shared: SharedArrayBuffer): LogHead => {
  const cells = new BigInt64Array(shared);
  const listeners = new Set<() => void>();
  let isWaiting = false;

  const wait = async (): Promise<void> => {
    if (isWaiting) return;
    isWaiting = true;
    while (listeners.size > 0) {
      const moved = Atomics.waitAsync(cells, POSITION, Atomics.load(cells, POSITION));
      if (moved.async) await moved.value;
      callAll(listeners);
    }
    isWaiting = false;
  };

  return {
    position: () => Number(Atomics.load(cells, POSITION)),
    onMove: (listener) => {
      const fallback = setInterval(listener, FALLBACK_MS);
      listeners.add(listener);
      void wait();
      return () => {
        clearInterval(fallback);
        listeners.delete(listener);
      };
    },
  };
};

/** A change of the file is seen before its commit is: so long after it, in milliseconds, the reader looks. */
const LOOKS_MS = [1, 5, 25, 100] as const;

/** The head of a log that another process writes: the file system tells when to look. */
export const headOfFile = (path: string, position: () => number): LogHead => ({
  position,
  onMove: (listener) => {
    const looks = new Set<NodeJS.Timeout>();
    const lookSoon = (): void => {
      if (looks.size > 0) return;
      for (const ms of LOOKS_MS) {
        const look = setTimeout(() => {
          looks.delete(look);
          listener();
        }, ms);
        looks.add(look);
      }
    };
    // The folder and not the file: the write-ahead log comes and goes with its writer.
    const watcher = watch(dirname(path), (_, name) => {
      if (name === null || name.startsWith(basename(path))) lookSoon();
    });
    const fallback = setInterval(listener, FALLBACK_MS);
    return () => {
      watcher.close();
      clearInterval(fallback);
      for (const look of looks) clearTimeout(look);
    };
  },
});
