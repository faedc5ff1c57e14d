import type { StreamName } from '../kernel/stream.js';

/** What the cache has to know of a live stream. */
export type Cached = {
  /** What it takes in memory, in bytes. */
  size(): number;
  /** Nothing waits in it, and nothing is on its way. */
  isIdle(): boolean;
  /** Hardly anything more will be asked of it. */
  isOver(): boolean;
};

/** How much is kept. */
export type CacheLimits = {
  /** Of all that is kept, in bytes. */
  readonly bytes: number;
  readonly sessions: number;
  /** Of those that are over, which late and repeated requests may still ask for. */
  readonly over: number;
};

/** Live streams in a memory budget. What waits for something is never dropped. */
export type SessionCache<Session extends Cached> = {
  /** What is kept of a stream; not counted as a use. */
  peek(stream: StreamName): Session | undefined;
  /** The live stream, opened where it is not kept; the most recently used then. */
  use(stream: StreamName, open: () => Session): Session;
  /** Weighs a live stream that may have grown, and drops what was used longest ago until the rest is within the limits. */
  weigh(stream: StreamName): void;
  /** What is kept, as it was weighed. */
  kept(): { readonly sessions: number; readonly bytes: number };
};

/** An entry of the two maps and the stream's name. */
const ENTRY_BYTES = 250;

/** Busy ones that are passed over in one go: each goes to the end, so that the next go meets others. */
const MAX_PASSED = 8;

type Entry<Session> = { readonly session: Session; bytes: number };
/** In the order of use, the one used longest ago first. */
type Entries<Session> = Map<StreamName, Entry<Session>>;

/** Opens an empty cache. Each call costs the same however much is kept. */
export const sessionCache = <Session extends Cached>(limits: CacheLimits): SessionCache<Session> => {
  const live: Entries<Session> = new Map();
  const over: Entries<Session> = new Map();
  let bytes = 0;

  const entryOf = (stream: StreamName): Entry<Session> | undefined => live.get(stream) ?? over.get(stream);

  const opened = (session: Session): Entry<Session> => {
    const entry = { session, bytes: ENTRY_BYTES + session.size() };
    bytes += entry.bytes;
    return entry;
  };

  /** Drops from the least recently used on while there is too much. */
  const dropWhile = (entries: Entries<Session>, isTooMuch: () => boolean): void => {
    let passed = 0;
    for (const [stream, entry] of entries) {
      if (!isTooMuch() || passed >= MAX_PASSED) return;
      entries.delete(stream);
      if (entry.session.isIdle()) bytes -= entry.bytes;
      else {
        entries.set(stream, entry);
        passed += 1;
      }
    }
  };

  const shrink = (): void => {
    const isAboveBudget = (): boolean => bytes > limits.bytes || live.size + over.size > limits.sessions;
    dropWhile(over, () => over.size > limits.over || isAboveBudget());
    dropWhile(live, isAboveBudget);
  };

  return {
    peek: (stream) => entryOf(stream)?.session,
    use: (stream, open) => {
      const entry = entryOf(stream) ?? opened(open());
      const entries = over.delete(stream) ? over : live;
      live.delete(stream);
      entries.set(stream, entry);
      return entry.session;
    },
    weigh: (stream) => {
      const entry = entryOf(stream);
      if (entry === undefined) return;
      const weight = ENTRY_BYTES + entry.session.size();
      bytes += weight - entry.bytes;
      entry.bytes = weight;
      if (entry.session.isOver() && live.delete(stream)) over.set(stream, entry);
      shrink();
    },
    kept: () => ({ sessions: live.size + over.size, bytes }),
  };
};
