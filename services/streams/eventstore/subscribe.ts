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

/** Makes a function that sends matching events, and a checkpoint whenever enough events were examined. */
const sender = ({ present }: ReadServices, { form, filter }: ReadPlan, send: Send) => {
  const turn = createYieldTurn();
  let considered = 0;
  const checkpoint = async (position: bigint): Promise<void> => {
    considered = 0;
    await send(encoded({ case: 'checkpoint', value: positionFields(position) }));
  };
  return async (event: RecordedEvent): Promise<void> => {
    await turn();
    if (filter?.matches(event) !== false) await send(await eventAnswer(event, form, present));
    considered += 1;
    if (filter !== undefined && considered >= filter.checkpointEvery) await checkpoint(event.position);
  };
};

const afterPosition = async (log: EventLog, from: From): Promise<bigint> => {
  if (from === 'start') return 0n;
  return from === 'end' ? log.head() : from;
};

/** Subscribes to the whole log after a position: first the history, then live events. */
const followAll = async (reading: ReadServices, plan: ReadPlan, send: Send): Promise<Subscription> => {
  const forward = sender(reading, plan, send);
  let isCaughtUp = false;
  return reading.log.subscribe({ after: await afterPosition(reading.log, plan.from) }, async ({ events }, isLive) => {
    for (const event of events) await forward(event);
    if (isLive && !isCaughtUp) await send(CAUGHT_UP);
    isCaughtUp ||= isLive;
  });
};

/** The revision after which a subscription starts; -1 for all events. Skips hidden events. */
const afterRevision = async ({ log, rules }: ReadServices, stream: StreamName, from: From): Promise<bigint> => {
  const last = (await lastRevision(log, stream)) ?? -1n;
  if (from === 'end') return last;
  const hidden = firstVisible(await rules.of(stream), last) - 1n;
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
  const forward = sender(reading, plan, send);
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
