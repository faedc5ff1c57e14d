import { setTimeout as pause } from 'node:timers/promises';
import {
  BACKWARDS,
  END,
  FORWARDS,
  type Position,
  type ResolvedEvent,
  START,
  type StreamingRead,
  streamNameFilter,
} from '@eventstore/db-client';
import type {
  EventFilter,
  LogPage,
  ReadLogBackwardsOptions,
  ReadLogOptions,
  ReadStreamOptions,
} from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { categoryOf, type StreamName } from '../../kernel/stream.js';
import { positionOf, toOurs } from './eventstore-events.js';
import { isNotFound, readFault } from './eventstore-fault.js';
import { isForeign } from './log-identity.js';
import type { Connection } from './nodes/connection.js';
import type { NodeClient } from './nodes/node-client.js';
import { takeEvents } from './taken-events.js';

/** Events of a page, at most. */
export const PAGE_EVENTS = 200;

/** Whether a reader with a filter wants an event. */
export const isWanted = (filter: EventFilter | undefined, { stream, type }: RecordedEvent): boolean =>
  !isForeign(stream) &&
  (filter?.categories?.includes(categoryOf(stream)) ?? true) &&
  (filter?.types?.includes(type) ?? true);

/** What the client reads from: a stream that ends. */
type Read = StreamingRead<ResolvedEvent>;

const eventIn = ({ event }: ResolvedEvent): RecordedEvent | undefined =>
  event === undefined ? undefined : toOurs(event);

/**
 * Leaves a read before its end. It has to run out all the same: the client waits for each of its streams when it is
 * closed, and one that nobody takes from never ends.
 */
const leave = (read: Read): void => {
  read.on('error', () => undefined);
  read.resume();
  read.cancel().catch(() => undefined); // it may never have begun
};

/** The client of the node to read from. */
export const nodeOf = async (connection: Connection): Promise<NodeClient> => {
  try {
    return await connection.client();
  } catch (error) {
    throw readFault(error);
  }
};

/** Pages of what the client reads; its errors become faults. */
async function* pagesOf(read: Read, isIn: (event: RecordedEvent) => boolean): AsyncGenerator<RecordedEvent[]> {
  let page: RecordedEvent[] = [];
  try {
    for await (const each of read.iterator({ destroyOnReturn: false }) as AsyncIterable<ResolvedEvent>) {
      const event = eventIn(each);
      if (event === undefined || !isIn(event)) continue;
      page.push(event);
      if (page.length < PAGE_EVENTS) continue;
      yield page;
      page = [];
    }
  } catch (error) {
    if (isNotFound(error)) return;
    throw readFault(error);
  } finally {
    if (!read.readableEnded) leave(read);
  }
  if (page.length > 0) yield page;
}

async function* limited(
  pages: AsyncIterable<RecordedEvent[]>,
  limit: number,
): AsyncGenerator<readonly RecordedEvent[]> {
  let left = limit;
  if (left <= 0) return;
  for await (const page of pages) {
    yield page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

const countOf = (limit: number | undefined): { maxCount?: number } =>
  limit === undefined || !Number.isFinite(limit) ? {} : { maxCount: limit };

const PATIENCE_MS = [20, 100, 500] as const;

/** Begins a read again whose connection is found to be broken, unless it has brought something already. */
async function* patiently<Page>(read: () => AsyncGenerator<Page>): AsyncGenerator<Page> {
  for (const pauseMs of [...PATIENCE_MS, undefined]) {
    let hasBegun = false;
    try {
      for await (const page of read()) {
        hasBegun = true;
        yield page;
      }
      return;
    } catch (error) {
      if (hasBegun || pauseMs === undefined || !(error instanceof StoreUnavailable)) throw error;
    }
    await pause(pauseMs);
  }
}

/** The events of one stream. */
export const readStream = (
  connection: Connection,
  stream: StreamName,
  options?: ReadStreamOptions,
): AsyncGenerator<readonly RecordedEvent[]> => patiently(() => streamPages(connection, stream, options));

async function* streamPages(
  connection: Connection,
  stream: StreamName,
  { from, direction = 'forwards', limit }: ReadStreamOptions = {},
): AsyncGenerator<readonly RecordedEvent[]> {
  if (limit === 0) return;
  const isForwards = direction === 'forwards';
  const read = (await nodeOf(connection)).readStream(stream, {
    direction: isForwards ? FORWARDS : BACKWARDS,
    fromRevision: from ?? (isForwards ? START : END),
    ...countOf(limit),
  });
  yield* pagesOf(read, () => true);
}

/** The largest position that the protocol has. */
const MAX_POSITION = 2n ** 63n - 1n;

/** Read beyond what is wanted: a page may hold events that are none of the log's. */
const FOREIGN_EVENTS = 16;

/** So many events before a position, or before the end; what is none of the log's among them. */
const eventsBefore = async (
  connection: Connection,
  before: bigint | undefined,
  maxCount: number,
): Promise<RecordedEvent[]> => {
  const fromPosition = before === undefined ? END : positionOf(before);
  const found: RecordedEvent[] = [];
  const read = (await nodeOf(connection)).readAll({ direction: BACKWARDS, fromPosition, maxCount });
  for await (const page of pagesOf(read, () => true)) found.push(...page);
  return found;
};

/** The log from its end, as much at a time as is wanted. */
export async function* readLogBackwards(
  connection: Connection,
  { before, limit = Infinity }: ReadLogBackwardsOptions = {},
): AsyncGenerator<readonly RecordedEvent[]> {
  let from = before === undefined || before > MAX_POSITION ? undefined : before;
  let left = limit;
  while (left > 0 && from !== 0n) {
    const maxCount = Math.min(left, PAGE_EVENTS) + FOREIGN_EVENTS;
    const found = await eventsBefore(connection, from, maxCount);
    const wanted = found.filter((event) => isWanted(undefined, event)).slice(0, left);
    if (wanted.length > 0) yield wanted;
    if (found.length < maxCount) return;
    left -= wanted.length;
    from = found.at(-1)?.position;
  }
}

async function* lastEvent(connection: Connection): AsyncGenerator<RecordedEvent> {
  // Nearly always it is the log's own, and asked for many times a second.
  const [last] = await eventsBefore(connection, undefined, 1);
  if (last === undefined) return;
  if (isWanted(undefined, last)) yield last;
  else for await (const page of readLogBackwards(connection, { before: last.position, limit: 1 })) yield* page;
}

/** The position of the last event of the log; 0n where there is none. */
export const headOf = async (connection: Connection): Promise<bigint> => {
  for await (const { position } of patiently(() => lastEvent(connection))) return position;
  return 0n;
};

/** A reader that looks at every event; what comes after `upTo` is another's. */
async function* readWhole(connection: Connection, after: bigint, upTo: bigint): AsyncGenerator<RecordedEvent[]> {
  const read = (await nodeOf(connection)).readAll({ fromPosition: after === 0n ? START : positionOf(after) });
  const isIn = (event: RecordedEvent): boolean => event.position > after && isWanted(undefined, event);
  for await (const page of pagesOf(read, isIn)) {
    const inside = page.filter(({ position }) => position <= upTo);
    if (inside.length > 0) yield inside;
    if (inside.length < page.length) return;
  }
}

const isEmpty = ({ categories, types }: EventFilter): boolean => categories?.length === 0 || types?.length === 0;

const prefixesOf = ({ categories }: EventFilter): string[] => categories?.map((category) => `${category}-`) ?? [''];

/** How many events the server looks at before it says how far it is. */
const SEARCH_WINDOW = 500;

/**
 * What a filter lets through. The client reads the log with a filter only as a subscription: it is ended where it has
 * caught up.
 */
async function* readFiltered(
  connection: Connection,
  { after, filter }: { readonly after: bigint; readonly filter: EventFilter },
  upTo: bigint,
): AsyncGenerator<RecordedEvent[]> {
  if (isEmpty(filter)) return;
  const checkpointReached = (_: unknown, { commit }: Position): void => {
    if (commit >= upTo) taken.mark();
  };
  const taken = takeEvents(
    (await nodeOf(connection)).subscribeToAll({
      fromPosition: after === 0n ? START : positionOf(after),
      filter: streamNameFilter({ prefixes: prefixesOf(filter), maxSearchWindow: SEARCH_WINDOW, checkpointReached }),
    }),
  );
  try {
    for (;;) {
      const brought = await taken.next();
      const events = brought.filter((each) => each !== 'caught-up');
      const inside = events.filter((event) => event.position <= upTo && isWanted(filter, event));
      if (inside.length > 0) yield inside;
      if (brought.includes('caught-up') || events.some(({ position }) => position >= upTo)) return;
    }
  } catch (error) {
    throw readFault(error);
  } finally {
    await taken.close();
  }
}

/** The log after a position, up to another, in pages. */
export async function* readLogUpTo(
  connection: Connection,
  { after, filter, limit = Infinity }: ReadLogOptions,
  upTo: bigint,
): AsyncGenerator<LogPage> {
  if (after >= upTo) return;
  const pages =
    filter === undefined ? readWhole(connection, after, upTo) : readFiltered(connection, { after, filter }, upTo);
  let position = after;
  let left = limit;
  for await (const events of limited(pages, limit)) {
    left -= events.length;
    position = events.at(-1)?.position ?? position;
    yield { events, position };
  }
  if (left > 0 && position < upTo) yield { events: [], position: upTo };
}
