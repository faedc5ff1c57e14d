/// <reference lib="es2024.sharedmemory" />
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { KIND_CELLS, kindHeads, type KindHeads } from './kind-heads.js';

/** The head of the log (the position of its last event), with change notifications. */
export type LogHead = {
  /** Position of the last committed event; 0 in an empty log. */
  position(): number;
  /**
   * Calls `listener` whenever the head moves, and from time to time when it has not moved. Keeps the process alive
   * until the returned function is called.
   */
  onMove(listener: () => void): () => void;
};

/**
 * The head of the log, and in the process that writes the log also the head of the rare events: those that are not hot
 * (events that engines report are hot), or are the first of their kind. It does not move while only other events are
 * committed, except after a failed transaction.
 */
export type LogHeads = LogHead & { readonly rare?: LogHead };

/**
 * Cells: position of the head; number of publications; position of the last event that is not hot or is the first of
 * its kind. The cells of the kinds follow (`kind-heads.ts`).
 */
const POSITION = 0;
const COMMITS = 1;
const RARE = 2;
const HEAD_CELLS = 3;

/**
 * The interval at which listeners are also called, in milliseconds, in case a notification is lost or changes of the
 * file cannot be watched.
 */
const FALLBACK_MS = 1_000;

/** Allocates the memory in which threads share the head, and the heads of the kinds. */
export const sharedHead = (): SharedArrayBuffer =>
  new SharedArrayBuffer((HEAD_CELLS + KIND_CELLS) * BigInt64Array.BYTES_PER_ELEMENT);

/** The heads of the kinds in the memory of a head. */
export const kindHeadsIn = (shared: SharedArrayBuffer): KindHeads =>
  kindHeads(new BigInt64Array(shared, HEAD_CELLS * BigInt64Array.BYTES_PER_ELEMENT));

const publishCell = (cells: BigInt64Array, cell: number, position: number): void => {
  if (Atomics.exchange(cells, cell, BigInt(position)) !== BigInt(position)) Atomics.notify(cells, cell);
};

/** Publishes the head to all threads: at the opening of the log, and after each transaction. */
export const publishHead = (
  shared: SharedArrayBuffer,
  { position, rare }: { readonly position: number; readonly rare: number },
): void => {
  const cells = new BigInt64Array(shared);
  Atomics.add(cells, COMMITS, 1n);
  publishCell(cells, RARE, rare);
  publishCell(cells, POSITION, position);
};

/** Number of calls of {@link publishHead}. */
export const publishedTimes = (shared: SharedArrayBuffer): number =>
  Number(Atomics.load(new BigInt64Array(shared), COMMITS));

const callAll = (listeners: ReadonlySet<() => void>): void => {
  for (const listener of listeners) listener();
};

const headInCell = (cells: BigInt64Array<SharedArrayBuffer>, cell: number): LogHead => {
  const listeners = new Set<() => void>();
  let isWaiting = false;
  let fallback: NodeJS.Timeout | undefined;

  const wait = async (): Promise<void> => {
    if (isWaiting) return;
    isWaiting = true;
    let seen = Atomics.load(cells, cell);
    while (listeners.size > 0) {
      const moved = Atomics.waitAsync(cells, cell, seen);
      if (moved.async) await moved.value;
      seen = Atomics.load(cells, cell); // read before the listeners run: a later move wakes them again
      callAll(listeners);
    }
    isWaiting = false;
  };

  return {
    position: () => Number(Atomics.load(cells, cell)),
    onMove: (listener) => {
      fallback ??= setInterval(() => callAll(listeners), FALLBACK_MS);
      listeners.add(listener);
      void wait();
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(fallback);
        fallback = undefined;
      };
    },
  };
};

/** The head that the writer thread of this process publishes. */
export const headInMemory = (shared: SharedArrayBuffer): LogHeads => {
  const cells = new BigInt64Array(shared);
  return { ...headInCell(cells, POSITION), rare: headInCell(cells, RARE) };
};

/**
 * The head for a reader with a filter. Commits of hot events alone do not wake a reader whose filter excludes them.
 * `wantsHot` is called again at every move, because a new kind of event may match the filter.
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

/**
 * File change notifications arrive before the commit is visible: the listener is called after each of these delays, in
 * milliseconds.
 */
const NOTIFY_AFTER_MS = [1, 5, 25, 100] as const;

/**
 * Watches the files of a folder.
 *
 * @returns `undefined` when the system has no further watcher (on Linux, each user has a limited number), or the folder
 * does not exist.
 */
const watcherOf = (folder: string, onChange: (name: string | null) => void): FSWatcher | undefined => {
  try {
    return watch(folder, (_, name) => onChange(name)).on('error', () => undefined);
  } catch {
    return undefined;
  }
};

/** The head of a log that another process writes; its listeners are called soon after the files change. */
export const headOfFile = (path: string, position: () => number): LogHead => ({
  position,
  onMove: (listener) => {
    const timers = new Set<NodeJS.Timeout>();
    const notifySoon = (): void => {
      if (timers.size > 0) return;
      for (const ms of NOTIFY_AFTER_MS) {
        const timer = setTimeout(() => {
          timers.delete(timer);
          listener();
        }, ms);
        timers.add(timer);
      }
    };
    // Watches the folder and not the file: the write-ahead log comes and goes with its writer.
    const watcher = watcherOf(dirname(path), (name) => {
      if (name === null || name.startsWith(basename(path))) notifySoon();
    });
    const fallback = setInterval(listener, FALLBACK_MS);
    return () => {
      watcher?.close();
      clearInterval(fallback);
      for (const timer of timers) clearTimeout(timer);
    };
  },
});
