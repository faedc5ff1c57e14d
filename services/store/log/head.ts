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

/** The head, and where it is known the same for events that are not hot: it stands still while only hot ones come. */
export type LogHeads = LogHead & { readonly rare?: LogHead };

/** Position of the head, how often it was published, and the last event that is not hot or the first of its kind. */
const POSITION = 0;
const COMMITS = 1;
const RARE = 2;

/** A listener looks by itself this often, should a wake-up be lost; no reader waits for it. */
const FALLBACK_MS = 1_000;

/** Memory for a head that threads share. */
export const sharedHead = (): SharedArrayBuffer => new SharedArrayBuffer(3 * BigInt64Array.BYTES_PER_ELEMENT);

const publishCell = (cells: BigInt64Array, cell: number, position: number): void => {
  if (Atomics.exchange(cells, cell, BigInt(position)) !== BigInt(position)) Atomics.notify(cells, cell);
};

/** Publishes the head to all threads after a commit. */
export const publishHead = (
  shared: SharedArrayBuffer,
  { position, rare }: { readonly position: number; readonly rare: number },
): void => {
  const cells = new BigInt64Array(shared);
  Atomics.add(cells, COMMITS, 1n);
  publishCell(cells, RARE, rare);
  publishCell(cells, POSITION, position);
};

/** Transactions that the writer has ended, its opening of the log included. */
export const publishedTimes = (shared: SharedArrayBuffer): number =>
  Number(Atomics.load(new BigInt64Array(shared), COMMITS));

const callAll = (listeners: ReadonlySet<() => void>): void => {
  for (const listener of listeners) listener();
};

const headInCell = (cells: BigInt64Array<SharedArrayBuffer>, cell: number): LogHead => {
  const listeners = new Set<() => void>();
  let isWaiting = false;

  const wait = async (): Promise<void> => {
    if (isWaiting) return;
    isWaiting = true;
    let seen = Atomics.load(cells, cell);
    while (listeners.size > 0) {
      const moved = Atomics.waitAsync(cells, cell, seen);
      if (moved.async) await moved.value;
      seen = Atomics.load(cells, cell); // before they look: a move after it wakes them again
      callAll(listeners);
    }
    isWaiting = false;
  };

  return {
    position: () => Number(Atomics.load(cells, cell)),
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

/** The head that the writer of this process publishes. */
export const headInMemory = (shared: SharedArrayBuffer): LogHeads => {
  const cells = new BigInt64Array(shared);
  return { ...headInCell(cells, POSITION), rare: headInCell(cells, RARE) };
};

/**
 * The head as somebody sees it who wants no hot events: commits of hot ones alone do not wake him. That is asked again
 * at every move, since a new kind of event may be among those that he wants.
 */
export const headFor = (head: LogHeads, wantsHot: () => boolean): LogHead => {
  const { rare } = head;
  if (!rare) return head;
  const chosen = (): LogHead => (wantsHot() ? head : rare);
  return {
    position: () => chosen().position(),
    onMove: (listener) => {
      let current = chosen();
      let stop = current.onMove(moved);
      function moved(): void {
        const next = chosen();
        if (next !== current) {
          stop();
          current = next;
          stop = next.onMove(moved);
        }
        listener();
      }
      return () => stop();
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
