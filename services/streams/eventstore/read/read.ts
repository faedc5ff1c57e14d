import type { EventLog, ReadLogOptions, ReadStreamOptions } from '../../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../../kernel/event.js';
import type { StreamName } from '../../../kernel/stream.js';
import { errorOfStore, StreamTombstoned } from '../failure.js';
import { eventAnswer } from './event-answer.js';
import { propertiesOf } from '../event-metadata.js';
import type { From, ReadPlan } from './read-request.js';
import { encodedReadAnswer, type EventDataEncoder, type ReadContent } from '../recorded.js';
import { streamIdentifierOf } from '../stream-identifier.js';
import type { StreamRulesTable, StreamRules } from '../stream-rules.js';
import { createYieldTurn } from './turns.js';

/** The services that reads use. */
export type ReadServices = {
  readonly log: EventLog;
  readonly rules: StreamRulesTable;
  readonly present: EventDataEncoder;
  readonly now: () => number;
};

/** A read that is not a subscription. */
export type CountedPlan = ReadPlan & { readonly count: number };

/**
 * Reads the last revision of a stream; `undefined` when the stream does not exist.
 *
 * @throws {StreamTombstoned} when the stream was deleted in the EventStoreDB that has the log.
 */
export const lastRevision = async (log: EventLog, stream: StreamName): Promise<bigint | undefined> => {
  try {
    for await (const page of log.readStream(stream, { direction: 'backwards', limit: 1 })) return page[0]?.revision;
  } catch (error) {
    throw errorOfStore(stream, error);
  }
  return undefined;
};

/**
 * Computes the first revision of a stream that its rules on truncation and count leave visible; above `last` when they
 * leave none. The rule on age is applied to each event, by {@link isYoung}.
 */
export const firstVisible = ({ truncateBefore, maxCount }: StreamRules, last: bigint): bigint => {
  const byCount = maxCount === undefined ? 0n : last + 1n - BigInt(maxCount);
  return byCount > truncateBefore ? byCount : truncateBefore;
};

/** True unless the rule on age hides the event. */
export const isYoung = ({ maxAgeMs }: StreamRules, event: RecordedEvent, nowMs: number): boolean =>
  maxAgeMs === undefined || propertiesOf(event).recordedAtMs > nowMs - maxAgeMs;

const revisionOf = (from: From, last: bigint): bigint => {
  if (from === 'start') return 0n;
  return from === 'end' ? last : from;
};

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The first and last visible revisions of a stream. */
type Extent = { readonly first: bigint; readonly last: bigint };

/** The range of the stream to read. Forwards, events that are too old come first and are not counted. */
const rangeOf = (
  { from, direction, count }: CountedPlan,
  { maxAgeMs }: StreamRules,
  { first, last }: Extent,
): ReadStreamOptions => {
  const begin = revisionOf(from, last);
  if (direction === 'backwards') return { from: begin, direction, limit: count };
  return { from: larger(begin, first), direction, limit: maxAgeMs === undefined ? count : Infinity };
};

async function* shownEvents(
  { log, rules, now }: ReadServices,
  plan: CountedPlan & { readonly stream: StreamName },
  last: bigint,
): AsyncGenerator<RecordedEvent> {
  const { stream, from, direction, count } = plan;
  if (from === 'end' && direction === 'forwards') return;
  const ruled = await rules.of(stream);
  const first = firstVisible(ruled, last);
  let left = count;
  for await (const page of log.readStream(stream, rangeOf(plan, ruled, { first, last }))) {
    for (const event of page) {
      if (event.revision < first || left <= 0) return;
      if (!isYoung(ruled, event, now())) continue;
      yield event;
      left -= 1;
      if (left <= 0) return;
    }
  }
}

/**
 * Yields the messages that follow the events of a stream, for clients that support them. The last revision always
 * comes, also when a count ended the read. When a read forwards found no event, the next revision to read from comes
 * before it, unless the read began there.
 */
function* endsOf({ direction, from, supportsRange }: CountedPlan, { first, last }: Extent, isEmpty: boolean) {
  if (!supportsRange) return;
  const begin = from === 'start' ? 0n : from;
  const next = begin !== 'end' && begin < first ? first : last + 1n;
  if (isEmpty && direction === 'forwards' && begin !== next)
    yield { case: 'firstStreamPosition', value: next } satisfies ReadContent;
  yield { case: 'lastStreamPosition', value: last } satisfies ReadContent;
}

/** Reads one stream. A stream that does not exist is an answer and not an error. */
async function* readStream(
  reading: ReadServices,
  plan: CountedPlan & { readonly stream: StreamName },
): AsyncGenerator<Buffer> {
  const { stream, form } = plan;
  const ruled = await reading.rules.of(stream);
  if (ruled.isTombstoned) throw new StreamTombstoned(stream);
  const last = await lastRevision(reading.log, stream);
  const first = last === undefined ? 0n : firstVisible(ruled, last);
  if (last === undefined || first > last) {
    yield encodedReadAnswer({ case: 'streamNotFound', value: { streamIdentifier: streamIdentifierOf(stream) } });
    return;
  }
  let isEmpty = true;
  for await (const event of shownEvents(reading, plan, last)) {
    isEmpty = false;
    yield await eventAnswer(event, form, reading.present);
  }
  for (const end of endsOf(plan, { first, last }, isEmpty)) yield encodedReadAnswer(end);
}

const logPages = (
  log: EventLog,
  { from, direction, count, filter }: CountedPlan,
): AsyncIterable<readonly RecordedEvent[]> | undefined => {
  const limit = filter === undefined ? count : Infinity;
  if (direction === 'backwards') {
    if (from === 'start') return undefined;
    return log.readLogBackwards(from === 'end' ? { limit } : { before: from, limit });
  }
  if (from === 'end') return undefined;
  return eventsOf(log, { after: from === 'start' ? 0n : from, isInclusive: true, limit });
};

async function* eventsOf(log: EventLog, options: ReadLogOptions): AsyncGenerator<readonly RecordedEvent[]> {
  for await (const page of log.readLog(options)) yield page.events;
}

/** Reads the whole log through the filter, if any; `count` counts matching events. */
async function* readAll({ log, present }: ReadServices, plan: CountedPlan): AsyncGenerator<Buffer> {
  const pages = logPages(log, plan);
  let left = plan.count;
  if (pages === undefined || left <= 0) return;
  const turn = createYieldTurn();
  for await (const page of pages) {
    for (const event of page) {
      await turn();
      if (plan.filter?.matches(event) === false) continue;
      yield await eventAnswer(event, plan.form, present);
      left -= 1;
      if (left <= 0) return;
    }
  }
}

/**
 * Yields the encoded answers to a counted read, in order.
 *
 * @throws {StreamTombstoned} when the stream was deleted permanently.
 */
export const readOnce = (reading: ReadServices, plan: CountedPlan): AsyncGenerator<Buffer> =>
  plan.stream === undefined ? readAll(reading, plan) : readStream(reading, { ...plan, stream: plan.stream });
