import type { RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { newestEvents } from './newest-events.js';

/** The newest events of the log, in a bounded buffer that all tails share. */
export interface LiveFeed {
  /** The buffer has all events after this position. */
  start(): bigint;
  /** All events up to this position are published to the tails. */
  position(): bigint;
  /**
   * The next published events after a position, at most a batch of them; `undefined` when the buffer does not have all
   * of them any more. Tails that ask for the same while nothing is published get the same batch.
   */
  after(position: bigint): readonly RecordedEvent[] | undefined;
  /**
   * Resolves at once when something after a position is published already; otherwise at the next publication, after
   * `timeoutMs` milliseconds, or when the feed is closed.
   */
  moved(after: bigint, timeoutMs: number): Promise<void>;
  /** Rejects when the log cannot be followed any more. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** Maximum number of events in the buffer: ten seconds at 3,000 events a second. */
const MAX_EVENTS = 32_768;

/**
 * The shortest time between two publications, in milliseconds. While many events come in, each tail takes some of them
 * at a time, at the cost of one message and one write; an event that comes alone is published at once.
 */
const PUBLISH_MS = 20;

/** Calls `run` when it is asked for: at once, or else `everyMs` milliseconds after the call before. */
const throttled = (run: () => void, everyMs: number) => {
  let ranAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    timer = undefined;
    ranAt = performance.now();
    run();
  };
  return {
    runSoon: (): void => {
      if (timer !== undefined) return;
      const waitMs = ranAt + everyMs - performance.now();
      if (waitMs <= 0) start();
      else timer = setTimeout(start, waitMs);
    },
    stop: (): void => clearTimeout(timer),
  };
};

/** Follows a log from its head on. */
export const openLiveFeed = async (
  log: Pick<EventLog, 'head' | 'subscribe'>,
  maxEvents = MAX_EVENTS,
): Promise<LiveFeed> => {
  const head = await log.head();
  const events = newestEvents(head, maxEvents);
  let [received, position] = [head, head];
  const waiting = new Set<() => void>();
  const batches = new Map<bigint, readonly RecordedEvent[]>();

  const publishing = throttled(() => {
    position = received;
    batches.clear();
    for (const wake of waiting) wake();
  }, PUBLISH_MS);
  const subscription = log.subscribe({ after: head }, (page) => {
    events.push(page.events);
    if (page.position > received) received = page.position;
    publishing.runSoon();
  });

  return {
    start: () => events.start(),
    position: () => position,
    after: (from) => {
      if (from < events.start()) return undefined;
      const batch = batches.get(from) ?? events.batch(from, position);
      batches.set(from, batch);
      return batch;
    },
    moved: (after, timeoutMs) =>
      new Promise((resolve) => {
        if (position > after) {
          resolve();
          return;
        }
        const wake = (): void => {
          waiting.delete(wake);
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(wake, timeoutMs);
        waiting.add(wake);
      }),
    ended: subscription.ended,
    close: async () => {
      await subscription.close();
      publishing.stop();
      for (const wake of waiting) wake();
    },
  };
};
