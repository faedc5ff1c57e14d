import type { EventFilter, EventLog, LogPage, Subscription } from '../../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../../kernel/event.js';
import { categoryOf, type StreamName } from '../../../kernel/stream.js';
import { eventAnswer } from './event-answer.js';
import { StreamTombstoned } from '../failure.js';
import { firstVisible, isYoung, lastRevision, type ReadServices } from './read.js';
import type { From, ReadPlan } from './read-request.js';
import { encodedReadAnswer, positionFields } from '../recorded.js';
import { createYieldTurn } from './turns.js';

/** Sends an encoded answer, and resolves when the client can take the next one. */
export type Send = (answer: Buffer) => Promise<void>;

const CAUGHT_UP = encodedReadAnswer({ case: 'caughtUp', value: {} });

/** Sends what a subscription has examined. */
type Sender = {
  /** Sends an event if it matches. */
  readonly forward: (event: RecordedEvent) => Promise<void>;
  /** Called when events up to a position were skipped; sends a checkpoint if these may be `checkpointEvery` or more. */
  readonly skippedTo: (position: bigint) => Promise<void>;
};

/** Makes the sender of a subscription that starts after a position. As EventStoreDB does, it counts events examined. */
const sender = ({ present }: ReadServices, { form, filter }: ReadPlan, send: Send, after: bigint): Sender => {
  const turn = createYieldTurn();
  let examined = 0;
  let last = after;
  const sendCheckpoint = async (position: bigint): Promise<void> => {
    [examined, last] = [0, position];
    await send(encodedReadAnswer({ case: 'checkpoint', value: positionFields(position) }));
  };
  const forward = async (event: RecordedEvent): Promise<void> => {
    await turn();
    if (filter?.matches(event) !== false) await send(await eventAnswer(event, form, present));
    examined += 1;
    last = event.position;
    if (filter !== undefined && examined >= filter.checkpointEvery) await sendCheckpoint(event.position);
  };
  const skippedTo = async (position: bigint): Promise<void> => {
    // Between two positions there are at most as many events as their difference.
    if (filter !== undefined && position - last >= filter.checkpointEvery) await sendCheckpoint(position);
  };
  return { forward, skippedTo };
};

const afterPosition = async (log: EventLog, from: From): Promise<bigint> => {
  if (from === 'start') return 0n;
  return from === 'end' ? log.head() : from;
};

/**
 * Sends the history of a filter by categories, which the log finds without reading all other events. How many of these
 * there are is not known, so only events that match are counted, until the history has been sent.
 *
 * @returns the position from which the subscription goes on.
 */
const sendHistory = async (
  { log }: ReadServices,
  { filter }: ReadPlan,
  { forward, skippedTo }: Sender,
  after: bigint,
): Promise<bigint> => {
  if (filter?.categories === undefined) return after;
  let position = after;
  for await (const page of log.readLog({ after, filter: { categories: filter.categories } })) {
    for (const event of page.events) await forward(event);
    ({ position } = page);
  }
  await skippedTo(position);
  return position;
};

/** Subscribes to the whole log after a position: first the history, then live events. */
const followAll = async (reading: ReadServices, plan: ReadPlan, send: Send): Promise<Subscription> => {
  const { log } = reading;
  const after = await afterPosition(log, plan.from);
  const to = sender(reading, plan, send, after);
  let isCaughtUp = false;
  return log.subscribe({ after: await sendHistory(reading, plan, to, after) }, async ({ events }, isLive) => {
    for (const event of events) await to.forward(event);
    if (isLive && !isCaughtUp) await send(CAUGHT_UP);
    isCaughtUp ||= isLive;
  });
};

/** The revision after which a subscription starts; -1 for all events. Skips what rules on truncation or count hide. */
const afterRevision = async ({ log, rules }: ReadServices, stream: StreamName, from: From): Promise<bigint> => {
  const last = (await lastRevision(log, stream)) ?? -1n;
  if (from === 'end') return last;
  const first = firstVisible(await rules.of(stream), last);
  const hidden = first > last ? last : first - 1n; // events that are appended from now on are sent in any case
  const requested = from === 'start' ? -1n : from;
  return requested > hidden ? requested : hidden;
};

/** The filter for live events of a stream; none without a dash in its name: a category is what precedes a dash. */
const liveFilter = (stream: StreamName): { readonly filter?: EventFilter } =>
  stream.includes('-') ? { filter: { categories: [categoryOf(stream)] } } : {};

/** Subscribes to one stream after a revision. The stream may be created later. */
const followStream = async (
  reading: ReadServices,
  plan: ReadPlan & { readonly stream: StreamName },
  send: Send,
): Promise<Subscription> => {
  const { log, rules, now } = reading;
  const { stream } = plan;
  const { forward } = sender(reading, plan, send, 0n);
  // Before the stream is read, so that no event is lost between the read and the live subscription.
  const head = await log.head();
  let seen = await afterRevision(reading, stream, plan.from);
  const take = async (event: RecordedEvent): Promise<void> => {
    if (event.stream !== stream || event.revision <= seen) return;
    seen = event.revision;
    await forward(event);
  };
  const ruled = await rules.of(stream);
  for await (const page of log.readStream(stream, { from: seen + 1n })) {
    for (const event of page) {
      if (isYoung(ruled, event, now())) await take(event);
      else seen = event.revision; // so that it is not sent as a live event
    }
  }
  await send(CAUGHT_UP);
  const onPage = async ({ events }: LogPage): Promise<void> => {
    for (const event of events) await take(event);
  };
  return log.subscribe({ after: head, ...liveFilter(stream) }, onPage);
};

/**
 * Sends the confirmation with `subscriptionId`, then the events of the plan, past and future.
 *
 * @returns the running subscription, which the caller closes.
 * @throws {StreamTombstoned} when the stream was deleted permanently.
 */
export const openSubscription = async (
  reading: ReadServices,
  plan: ReadPlan,
  { send, subscriptionId }: { readonly send: Send; readonly subscriptionId: string },
): Promise<Subscription> => {
  const { stream } = plan;
  if (stream !== undefined && (await reading.rules.of(stream)).isTombstoned) throw new StreamTombstoned(stream);
  await send(encodedReadAnswer({ case: 'confirmation', value: { subscriptionId } }));
  return stream === undefined ? followAll(reading, plan, send) : followStream(reading, { ...plan, stream }, send);
};
