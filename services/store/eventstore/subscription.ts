import { setTimeout as pause } from 'node:timers/promises';
import type { LogPage, ReadLogOptions, Subscription } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { LogEndsEarly } from '../../kernel/log-readers/log-end.js';
import type { StoreFeed } from './live-feed.js';
import { isWanted, PAGE_EVENTS } from './read-pages.js';

/** The sources of a subscription: reads for past events, and the feed for new ones. */
export type Sources = {
  readonly head: () => Promise<bigint>;
  readonly read: (options: ReadLogOptions, upTo: bigint) => AsyncIterable<LogPage>;
  readonly feed: StoreFeed;
  /** Is called with the reason each time the subscription breaks; it is retried. */
  readonly onFailure: (error: unknown) => void;
};

type OnPage = (page: LogPage, isLive: boolean) => Promise<void> | void;

/** The maximum of events that are buffered for a handler; a slower one gets them from the log instead. */
const MAX_BUFFERED = 10_000;

const RETRY_MS = 500;

/** Buffers the events of the feed for one subscription; on overflow it is emptied, and the log is read again. */
const eventBuffer = (sources: Sources, after: bigint) => {
  let events: RecordedEvent[] = [];
  let isOverfull = false;
  let wake = (): void => undefined;
  const { from, stop } = sources.feed.listen(after, (arrived) => {
    if (events.length + arrived.length > MAX_BUFFERED) {
      isOverfull = true;
      events = [];
    }
    if (!isOverfull) events.push(...arrived);
    wake();
  });
  return {
    from,
    stop,
    isOverfull: () => isOverfull,
    wake: () => wake(),
    hasAfter: (position: bigint): boolean => (events.at(-1)?.position ?? 0n) > position,
    /** Waits for at least one event; may be empty after an overflow or `wake()`. */
    take: async (): Promise<readonly RecordedEvent[]> => {
      if (events.length === 0 && !isOverfull) await new Promise<void>((resolve) => (wake = resolve));
      wake = () => undefined;
      return events.splice(0, PAGE_EVENTS);
    },
  };
};

/** Passes pages to a handler, and remembers when it has failed. */
const handling = (onPage: OnPage) => {
  let hasFailed = false;
  return {
    hasFailed: () => hasFailed,
    handle: async (...given: Parameters<OnPage>): Promise<void> => {
      try {
        await onPage(...given);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    },
  };
};

/**
 * Follows the log: reads past events, then listens to the live feed of this process. While the store cannot be reached,
 * or its log ends before the position that was read, the subscription retries; only `close()` or an error of the
 * handler ends it.
 */
export const subscribe = (sources: Sources, options: Omit<ReadLogOptions, 'limit'>, onPage: OnPage): Subscription => {
  const ending = new AbortController();
  const isClosed = (): boolean => ending.signal.aborted;
  const { filter } = options;
  let next = options;
  const handler = handling(onPage);
  let buffer: ReturnType<typeof eventBuffer> | undefined;

  const deliver = async (page: LogPage, isLive: boolean): Promise<void> => {
    if (isClosed()) return;
    next = { after: page.position, ...(filter && { filter }) };
    await handler.handle(page, isLive);
  };

  /** Reads past events up to a position. */
  const catchUp = async (upTo: bigint): Promise<void> => {
    for await (const page of sources.read(next, upTo)) {
      if (isClosed()) return;
      await deliver({ ...page, hasNext: page.position < upTo }, false);
    }
  };

  const listen = async (): Promise<void> => {
    buffer = eventBuffer(sources, next.after);
    if (buffer.from > next.after) await catchUp(buffer.from);
    await deliver({ events: [], position: next.after, hasNext: buffer.hasAfter(next.after) }, true);
    while (!isClosed() && !buffer.isOverfull()) {
      const fresh = (await buffer.take()).filter((event) => event.position > next.after);
      const last = fresh.at(-1)?.position;
      if (last === undefined) continue;
      const events = fresh.filter((event) => isWanted(filter, event));
      await deliver({ events, position: last, hasNext: buffer.hasAfter(last) }, true);
    }
  };

  const follow = async (): Promise<void> => {
    try {
      const head = await sources.head();
      if (head < next.after) throw new LogEndsEarly(head, next.after);
      await catchUp(head);
      await listen();
    } catch (error) {
      // `next` is after the page of a handler that has failed: a retry would leave the page out.
      if (handler.hasFailed() || !(error instanceof StoreUnavailable)) throw error;
      sources.onFailure(error);
      await pause(RETRY_MS, undefined, { signal: ending.signal }).catch(() => undefined);
    } finally {
      buffer?.stop();
    }
  };

  const run = async (): Promise<void> => {
    while (!isClosed()) await follow();
  };

  const ended = run();
  return {
    ended,
    close: async () => {
      ending.abort();
      buffer?.wake();
      await ended.catch(() => undefined); // callers get the error from `ended`
    },
  };
};
