import type { EventLog, LogPage, Subscription } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { categoryOf, type StreamName } from '../../kernel/stream.js';
import { eventAnswer } from './event-answer.js';
import { StreamTombstoned } from './failure.js';
import { firstVisible, lastRevision, type ReadServices } from './read.js';
import type { From, ReadPlan } from './read-request.js';
import { encoded, positionFields } from './recorded.js';
import { createYieldTurn } from './turns.js';

/** Sends an encoded answer, and resolves when the client can take the next one. */
export type Send = (answer: Buffer) => Promise<void>;

const CAUGHT_UP = encoded({ case: 'caughtUp', value: {} });

/** Sends what a subscription has examined. */
type Sender = {
  /** Sends an event if it matches. */
  readonly forward: (event: RecordedEvent) => Promise<void>;
  /** Sends a checkpoint if enough events were examined since the last one, up to this position. */
  readonly examined: (position: bigint) => Promise<void>;
};

/**
 * Makes the sender of a subscription that starts after a position. The distance of two positions is taken for the
 * number of events examined; in a log whose positions have gaps, checkpoints come more often than the client has asked.
 */
const sender = ({ present }: ReadServices, { form, filter }: ReadPlan, send: Send, after: bigint): Sender => {
  const turn = createYieldTurn();
  let since = after;
  const examined = async (position: bigint): Promise<void> => {
    if (filter === undefined || position - since < filter.checkpointEvery) return;
    since = position;
    await send(encoded({ case: 'checkpoint', value: positionFields(position) }));
  };
  const forward = async (event: RecordedEvent): Promise<void> => {
    await turn();
    if (filter?.matches(event) !== false) await send(await eventAnswer(event, form, present));
    await examined(event.position);
  };
  return { forward, examined };
};

const afterPosition = async (log: EventLog, from: From): Promise<bigint> => {
  if (from === 'start') return 0n;
  return from === 'end' ? log.head() : from;
};

/**
 * Sends the history of a filter by categories, which the log finds without reading all other events.
 *
 * @returns the position from which the subscription goes on.
 */
const sendHistory = async (
  { log }: ReadServices,
  { filter }: ReadPlan,
  { forward, examined }: Sender,
  after: bigint,
): Promise<bigint> => {
  if (filter?.categories === undefined) return after;
  let position = after;
  for await (const page of log.readLog({ after, filter: { categories: filter.categories } })) {
    for (const event of page.events) await forward(event);
    ({ position } = page);
    await examined(position);
  }
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

/** The revision after which a subscription starts; -1 for all events. Skips hidden events. */
const afterRevision = async ({ log, rules }: ReadServices, stream: StreamName, from: From): Promise<bigint> => {
  const last = (await lastRevision(log, stream)) ?? -1n;
  if (from === 'end') return last;
  const first = firstVisible(await rules.of(stream), last);
  const hidden = first > last ? last : first - 1n; // events that are appended from now on are sent in any case
  const asked = from === 'start' ? -1n : from;
  return asked > hidden ? asked : hidden;
};

/** Subscribes to one stream after a revision. The stream may be created later. */
const followStream = async (
  reading: ReadServices,
  plan: ReadPlan & { readonly stream: StreamName },
  send: Send,
): Promise<Subscription> => {
  const { log } = reading;
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
  for await (const page of log.readStream(stream, { from: seen + 1n })) for (const event of page) await take(event);
  await send(CAUGHT_UP);
  const onPage = async ({ events }: LogPage): Promise<void> => {
    for (const event of events) await take(event);
  };
  return log.subscribe({ after: head, filter: { categories: [categoryOf(stream)] } }, onPage);
};

/**
 * Sends the confirmation with `subscriptionId`, then the events of the plan, past and future.
 *
 * @returns the running subscription, which the caller closes.
 * @throws {StreamTombstoned} when the stream was deleted permanently.
 */
export const follow = async (
  reading: ReadServices,
  plan: ReadPlan,
  { send, subscriptionId }: { readonly send: Send; readonly subscriptionId: string },
): Promise<Subscription> => {
  const { stream } = plan;
  if (stream !== undefined && (await reading.rules.of(stream)).isTombstoned) throw new StreamTombstoned(stream);
  await send(encoded({ case: 'confirmation', value: { subscriptionId } }));
  return stream === undefined ? followAll(reading, plan, send) : followStream(reading, { ...plan, stream }, send);
};
