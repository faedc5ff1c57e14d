import { RecencyMap } from '../kernel/recency-map.js';
import type { StreamName } from '../kernel/stream.js';

/** The properties of a live stream that the cache needs. */
export type Cached = {
  /** Its memory, in bytes. */
  size(): number;
  /** True when no turn waits and no append is in flight. */
  isIdle(): boolean;
  /** True when hardly any further use is expected, as after the end of an execution: it is evicted first. */
  isOver(): boolean;
};

/** The limits of the cache. */
export type CacheLimits = {
  /** The memory of all sessions, in bytes. */
  readonly bytes: number;
  readonly sessions: number;
  /** Maximum number of sessions that are over; late and repeated requests may still use them. */
  readonly over: number;
};

/** A cache of live streams within a memory budget. A stream in use is never evicted. */
export type SessionCache<Session extends Cached> = {
  /** The cached session of a stream, if any. The call does not count as a use. */
  peek(stream: StreamName): Session | undefined;
  /** The session of a stream, opened when it is not cached. It becomes the most recently used. */
  use(stream: StreamName, open: () => Session): Session;
  /** Measures a session that may have grown, then evicts the least recently used while the limits are exceeded. */
  weigh(stream: StreamName): void;
  /** The number of cached sessions and their memory as last measured. */
  kept(): { readonly sessions: number; readonly bytes: number };
};

/** The memory of an entry of the maps, with the stream's name. */
const ENTRY_BYTES = 250;

/**
 * Maximum number of busy sessions that one eviction run skips. Each of them becomes the most recently used, so that the
 * next run examines others.
 */
const MAX_PASSED = 8;

type Entry<Session> = { readonly session: Session; bytes: number };
type Entries<Session> = RecencyMap<StreamName, Entry<Session>>;

/** Makes an empty cache. The cost of a call does not depend on the number of sessions. */
export const sessionCache = <Session extends Cached>(limits: CacheLimits): SessionCache<Session> => {
  const live: Entries<Session> = new RecencyMap();
  const over: Entries<Session> = new RecencyMap();
  let bytes = 0;

  const entryOf = (stream: StreamName): Entry<Session> | undefined => live.get(stream) ?? over.get(stream);

  const opened = (session: Session): Entry<Session> => {
    const entry = { session, bytes: ENTRY_BYTES + session.size() };
    bytes += entry.bytes;
    return entry;
  };

  /** Evicts the least recently used while the limits are exceeded. */
  const dropWhile = (entries: Entries<Session>, isTooMuch: () => boolean): void => {
    let passed = 0;
    while (passed < MAX_PASSED && isTooMuch()) {
      const oldest = entries.oldest();
      if (oldest === undefined) return;
      const { key: stream, value: entry } = oldest;
      if (entry.session.isIdle()) {
        entries.delete(stream);
        bytes -= entry.bytes;
      } else {
        entries.use(stream);
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
      const known = live.use(stream) ?? over.use(stream);
      if (known) return known.session;
      const entry = opened(open());
      live.set(stream, entry);
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
