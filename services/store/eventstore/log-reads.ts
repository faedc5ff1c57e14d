import { BACKWARDS, eventTypeFilter, type Filter, FORWARDS, streamNameFilter } from '@eventstore/db-client';
import type { EventFilter, LogPage, ReadLogOptions, ReadStreamOptions } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { EXECUTION_CATEGORY } from '../../kernel/execution-id.js';
import { LogEndsEarly } from '../../kernel/log-readers/log-end.js';
import type { StreamName } from '../../kernel/stream.js';
import { isNoEventPosition, readFault } from './eventstore-fault.js';
import { nearestPositions } from './read-backwards.js';
import { eventsOf, isEvent, isWanted, LEADER, openRead, pagesOf, retryRead, readStart } from './read-pages.js';
import type { NodeConnection } from './nodes/connection.js';
import type { ReadAnswer } from './wire/read-answer.js';

/** Limits pages to a number of events in all; the position of a cut page is that of its last remaining event. */
async function* limited(pages: AsyncIterable<LogPage>, limit: number): AsyncGenerator<LogPage> {
  let left = limit;
  for await (const page of pages) {
    const events = page.events.slice(0, left);
    const isCut = events.length < page.events.length;
    yield isCut ? { events, position: events.at(-1)?.position ?? page.position } : page;
    left -= events.length;
    if (left <= 0) return;
  }
}

const countOf = (limit: number | undefined): { count?: number } =>
  limit === undefined || !Number.isFinite(limit) ? {} : { count: limit };

/** Reads the events of one stream, in pages; none when the stream does not exist. */
export const readStream = (
  connection: NodeConnection,
  stream: StreamName,
  options?: ReadStreamOptions,
): AsyncGenerator<readonly RecordedEvent[]> => retryRead(() => streamPages(connection, stream, options));

async function* streamPages(
  connection: NodeConnection,
  stream: StreamName,
  { from, direction = 'forwards', limit }: ReadStreamOptions = {},
): AsyncGenerator<readonly RecordedEvent[]> {
  if (limit === 0) return;
  const isForwards = direction === 'forwards';
  yield* pagesOf(connection, {
    stream,
    direction: isForwards ? FORWARDS : BACKWARDS,
    from: from ?? (isForwards ? 'start' : 'end'),
    ...countOf(limit),
    ...LEADER,
  });
}

/** The requested read, and the position that the server reads from: the same, or that of the event before it. */
type ReadFrom = Omit<ReadLogOptions, 'limit'> & { readonly start: bigint };

type Filtered = ReadFrom & { readonly filter: EventFilter };

const isAsked = ({ after, isInclusive, filter }: ReadFrom, event: RecordedEvent): boolean =>
  (event.position > after || (isInclusive === true && event.position === after)) && isWanted(filter, event);

/** Reads every event, up to a position or to the end of what the node has. */
async function* readWhole(connection: NodeConnection, options: ReadFrom, upTo: bigint): AsyncGenerator<LogPage> {
  for await (const page of pagesOf(connection, { from: readStart(options.start), ...LEADER })) {
    const inside = page.filter(({ position }) => position <= upTo);
    const isOver = inside.length < page.length;
    const seen = isOver ? upTo : page.at(-1)?.position;
    if (seen !== undefined && seen >= options.after)
      yield { events: inside.filter((event) => isAsked(options, event)), position: seen };
    if (isOver) return;
  }
}

const isEmpty = ({ categories, types }: EventFilter): boolean => categories?.length === 0 || types?.length === 0;

/** The number of events that the server examines before it sends a checkpoint. */
const SEARCH_WINDOW = { maxSearchWindow: 500 } as const;

/**
 * The filter for the server, which filters by streams or by types. Nearly all events of a log are of executions: by
 * types, fewer of these match, and the reader drops the events of other categories. A smaller category has few events
 * in any case, and a log server finds them by its index.
 */
export const serverFilter = ({ categories, types }: EventFilter): Filter => {
  const isByTypes = categories?.includes(EXECUTION_CATEGORY) ?? true;
  return types !== undefined && isByTypes
    ? eventTypeFilter({ prefixes: [...types], ...SEARCH_WINDOW })
    : streamNameFilter({ prefixes: categories?.map((category) => `${category}-`) ?? [''], ...SEARCH_WINDOW });
};

/** Reads the event at the start position of an inclusive read, because subscriptions start after their position. */
const firstOf = async (connection: NodeConnection, options: ReadFrom): Promise<readonly RecordedEvent[]> => {
  if (options.isInclusive !== true || options.start !== options.after) return [];
  const found: RecordedEvent[] = [];
  const first = { from: readStart(options.start), count: 1, ...LEADER } as const;
  for await (const events of eventsOf(connection, first))
    found.push(...events.filter((event) => isAsked(options, event)));
  return found;
};

/** True for an answer after which nothing up to a position is missing. */
const isEndBy = (answer: ReadAnswer, upTo: bigint): boolean => {
  if (isEvent(answer) || answer.mark === 'checkpoint') return answer.position >= upTo;
  return answer.mark === 'caught-up';
};

/**
 * Reads the events that match a filter by a subscription, because that has checkpoints in between; it ends when it has
 * caught up. It is on the leader, which has every event that any node has shown.
 */
async function* readFiltered(connection: NodeConnection, options: Filtered, upTo: bigint): AsyncGenerator<LogPage> {
  const first = await firstOf(connection, options);
  if (first.length > 0) yield { events: first, position: options.after };
  const filter = serverFilter(options.filter);
  const read = await openRead(connection, { from: readStart(options.start), filter, isSubscription: true, ...LEADER });
  try {
    for (;;) {
      const answers = await read.next();
      if (answers.length === 0) throw new Error('the event store has ended the subscription');
      const events = answers.filter(isEvent);
      const isOver = answers.some((answer) => isEndBy(answer, upTo));
      const inside = events.filter((event) => event.position <= upTo && isAsked(options, event));
      const position = isOver ? upTo : events.at(-1)?.position;
      if (position !== undefined) yield { events: inside, position };
      if (isOver) return;
    }
  } catch (error) {
    throw readFault(error);
  } finally {
    read.close();
  }
}

const isBefore = ({ after, isInclusive }: Omit<ReadLogOptions, 'limit'>, upTo: bigint): boolean =>
  after < upTo || (after === upTo && isInclusive === true);

/** Reads the log in the way that fits the filter; a filter that matches nothing needs no read. */
async function* pagesFrom(connection: NodeConnection, options: ReadFrom, upTo: bigint): AsyncGenerator<LogPage> {
  const { filter } = options;
  if (filter === undefined) yield* readWhole(connection, options, upTo);
  else if (isEmpty(filter)) yield { events: [], position: upTo };
  else yield* readFiltered(connection, { ...options, filter }, upTo);
}

/** Reads pages after any position. The server refuses positions without an event; then the event before it is used. */
async function* pagesAfter(
  connection: NodeConnection,
  options: Omit<ReadLogOptions, 'limit'>,
  upTo: bigint,
): AsyncGenerator<LogPage> {
  const { after } = options;
  let hasBegun = false;
  try {
    for await (const page of pagesFrom(connection, { ...options, start: after }, upTo)) {
      hasBegun = true;
      yield page;
    }
  } catch (error) {
    // The server gives other failures the same error. After the first page, a second read would repeat events.
    if (hasBegun || !isNoEventPosition(error)) throw error;
    const { atOrBefore: start } = await nearestPositions(connection, after);
    if (start === after) throw error;
    yield* pagesFrom(connection, { ...options, start }, upTo);
  }
}

/**
 * Reads the log after a position, up to and including another, in pages with the position that is read so far.
 *
 * @throws {LogEndsEarly} when the read ends before `upTo`, so that the rest of the log is not known.
 */
export async function* readLogUpTo(
  connection: NodeConnection,
  { limit = Infinity, ...options }: ReadLogOptions,
  upTo: bigint,
): AsyncGenerator<LogPage> {
  if (limit <= 0 || !isBefore(options, upTo)) return;
  let position = options.after;
  let left = limit;
  for await (const page of retryRead(() => limited(pagesAfter(connection, options, upTo), limit))) {
    left -= page.events.length;
    ({ position } = page);
    yield page;
  }
  if (left > 0 && position < upTo) throw new LogEndsEarly(position, upTo);
}
