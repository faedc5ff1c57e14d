import { setTimeout as pause } from 'node:timers/promises';
import type { EventFilter, LogPage, ReadLogOptions, Subscription } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import type { LiveFeed } from './live-feed.js';
import { isWanted, PAGE_EVENTS } from './log-reads.js';

/** How a subscription reads what was there before it, and listens to what comes. */
export type Sources = {
  readonly head: () => Promise<bigint>;
  readonly read: (options: ReadLogOptions, upTo: bigint) => AsyncIterable<LogPage>;
  readonly feed: LiveFeed;
};

type OnPage = (page: LogPage, isLive: boolean) => Promise<void> | void;

/** Events that may wait for a handler; one that is slower reads them from the log again. */
const MOST_WAITING = 10_000;

const RETRY_MS = 500;

/** What the feed has brought for one subscription; it is dropped when it is too much, and read again. */
const waitingRoom = (sources: Sources, after: bigint) => {
  let events: RecordedEvent[] = [];
  let isOverfull = false;
  let wake = (): void => undefined;
  const { from, stop } = sources.feed.listen(after, (come) => {
    if (events.length + come.length > MOST_WAITING) {
      isOverfull = true;
      events = [];
    }
    if (!isOverfull) events.push(...come);
    wake();
  });
  return {
    from,
    stop,
    isOverfull: () => isOverfull,
    wake: () => wake(),
    hasAfter: (position: bigint): boolean => (events.at(-1)?.position ?? 0n) > position,
    /** At least one event, unless it is overfull or woken. */
    take: async (): Promise<readonly RecordedEvent[]> => {
      if (events.length === 0 && !isOverfull) await new Promise<void>((resolve) => (wake = resolve));
      wake = () => undefined;
      return events.splice(0, PAGE_EVENTS);
    },
  };
};

/**
 * Follows the log: reads what is there, then listens with the others of this process. Where the store cannot be reached
 * it waits; only the handler ends it.
 */
export const subscribe = (
  sources: Sources,
  { after, filter }: { readonly after: bigint; readonly filter?: EventFilter },
  onPage: OnPage,
): Subscription => {
  const ending = new AbortController();
  const isClosed = (): boolean => ending.signal.aborted;
  let position = after;
  let room: ReturnType<typeof waitingRoom> | undefined;

  const hand = async (page: LogPage, isLive: boolean): Promise<void> => {
    if (isClosed()) return;
    position = page.position;
    await onPage(page, isLive);
  };

  /** Reads up to a position, or to the head of that moment. */
  const catchUp = async (upTo: bigint): Promise<void> => {
    for await (const page of sources.read({ after: position, ...(filter && { filter }) }, upTo)) {
      if (isClosed()) return;
      await hand({ ...page, hasNext: page.position < upTo }, false);
    }
  };

  const listen = async (): Promise<void> => {
    room = waitingRoom(sources, position);
    if (room.from > position) await catchUp(room.from);
    await hand({ events: [], position, hasNext: room.hasAfter(position) }, true);
    while (!isClosed() && !room.isOverfull()) {
      const fresh = (await room.take()).filter((event) => event.position > position);
      const last = fresh.at(-1)?.position;
      if (last === undefined) continue;
      const events = fresh.filter((event) => isWanted(filter, event));
      await hand({ events, position: last, hasNext: room.hasAfter(last) }, true);
    }
  };

  const follow = async (): Promise<void> => {
    try {
      await catchUp(await sources.head());
      await listen();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await pause(RETRY_MS, undefined, { signal: ending.signal }).catch(() => undefined);
    } finally {
      room?.stop();
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
      room?.wake();
      await ended.catch(() => undefined); // said by `ended` itself
    },
  };
};
