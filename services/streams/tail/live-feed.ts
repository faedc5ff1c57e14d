import type { RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';

/** The newest events of the log, in a bounded buffer that all tails share. */
export interface LiveFeed {
  /** The buffer has all events after this position. */
  start(): bigint;
  /** All events up to this position were received. */
  position(): bigint;
  /** The events after a position; `undefined` when the buffer does not have all of them any more. */
  after(position: bigint): readonly RecordedEvent[] | undefined;
  /** Resolves when something was received after a position, or after some milliseconds. */
  moved(after: bigint, timeoutMs: number): Promise<void>;
  /** Rejects when the log cannot be followed any more. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** The most that the buffer holds, in events and in bytes of their data. */
const MAX_EVENTS = 4_096;
const MAX_BYTES = 16 * 1024 * 1024;

/** Follows a log from its head on. */
export const openLiveFeed = async (log: Pick<EventLog, 'head' | 'subscribe'>): Promise<LiveFeed> => {
  let start = await log.head();
  let position = start;
  let events: RecordedEvent[] = [];
  let bytes = 0;
  const waiting = new Set<() => void>();

  const trim = (): void => {
    let dropped = 0;
    while (events.length - dropped > MAX_EVENTS || bytes > MAX_BYTES) {
      const oldest = events[dropped];
      if (!oldest) break;
      bytes -= oldest.data.length;
      start = oldest.position;
      dropped += 1;
    }
    events = events.slice(dropped);
  };
  const subscription = log.subscribe({ after: start }, (page) => {
    for (const event of page.events) {
      events.push(event);
      bytes += event.data.length;
    }
    trim();
    if (page.position > position) position = page.position;
    for (const wake of waiting) wake();
  });

  return {
    start: () => start,
    position: () => position,
    after: (from) => (from < start ? undefined : events.filter((event) => event.position > from)),
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
      for (const wake of waiting) wake();
    },
  };
};
