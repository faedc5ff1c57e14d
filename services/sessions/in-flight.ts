import { type EventMetadata, type NewEvent } from '../kernel/event.js';
import type { Appended } from '../kernel/ports/event-store.js';
import { RevisionConflict } from '../kernel/fault.js';
import { type Idempotency, type KnownKeys, noteKey, priorUse } from '../kernel/idempotency.js';
import { eventIds } from './event-id.js';
import type { CommandTurn, Decided, InFlight, Live, OnFailure, Turn } from './live.js';

const SCHEMA = 1;
const MAX_ATTEMPTS = 20;

const keyOf = (
  { key, operation, content }: Idempotency,
  target: string,
): Pick<EventMetadata, 'idempotencyKey' | 'idempotency'> => ({
  idempotencyKey: key,
  idempotency: { operation, target, content },
});

/** Remembers the idempotency key of an event, if it has one. */
export const rememberKey = (folded: { keys?: KnownKeys }, metadata: EventMetadata): void => {
  if (metadata.idempotency !== undefined) noteKey((folded.keys ??= new Map()), metadata);
};

const targetOf = <S, C, E, R>({ aggregate }: Live<S, C, E, R>, { command }: CommandTurn<C, R>): string =>
  aggregate.targetOf?.(command) ?? '';

/** Looks up an earlier use of the command's idempotency key. */
export const priorUseOf = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
): ReturnType<typeof priorUse> => {
  const { idempotency, actor } = turn.context;
  const keys = live.folded?.keys;
  if (idempotency === undefined || keys === undefined) return 'none';
  return priorUse(keys, actor, targetOf(live, turn), idempotency);
};

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** Assigned field by field, because every event passes through here and a spread costs several times as much. */
const metadataFor = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  refusal: R | undefined,
): EventMetadata => {
  const { actor, commandId, correlationId, causationId, traceParent, idempotency } = turn.context;
  const metadata: Writable<EventMetadata> = { recordedAtMs: live.recordedAtMs, actor, commandId, schema: SCHEMA };
  if (correlationId !== undefined) metadata.$correlationId = correlationId;
  if (causationId !== undefined) metadata.$causationId = causationId;
  if (traceParent !== undefined) metadata.traceparent = traceParent;
  // The key of a refused command is not kept, not even when the refusal records an event.
  if (idempotency !== undefined && refusal === undefined)
    Object.assign(metadata, keyOf(idempotency, targetOf(live, turn)));
  return metadata;
};

/** Encodes the events of a command, with the metadata that they share. */
export const encode = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
): { readonly encoded: readonly NewEvent[]; readonly about: EventMetadata } => {
  live.recordedAtMs = Math.max(live.recordedAtMs, live.services.now());
  const about = metadataFor(live, turn, refusal);
  const metadata = JSON.stringify(about);
  const ids = eventIds(turn.context.commandId, events.length);
  const encoded: NewEvent[] = [];
  for (const [index, id] of ids.entries()) {
    const event = events[index];
    if (event === undefined) continue;
    const { type, data } = live.aggregate.codec.encode(event, live.services.format?.());
    encoded.push({ id, type, data, metadata });
  }
  return { encoded, about };
};

/**
 * Folds events before they are durable, and adds them to the appends in flight: the next command is decided as if they
 * were recorded.
 *
 * @returns `undefined` when the stream is not folded.
 */
export const foldInFlight = <S, C, E, R>(
  live: Live<S, C, E, R>,
  by: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
): InFlight<C, R> | undefined => {
  const { folded, aggregate } = live;
  if (folded === undefined) return undefined;
  const expected = folded.revision < 0n ? 'no-stream' : folded.revision;
  const revision = folded.revision + BigInt(events.length);
  const { encoded, about } = encode(live, by, { events, refusal });
  const entry: InFlight<C, R> = { by, refusal, followers: [], result: undefined, expected, revision, encoded };
  rememberKey(folded, about);
  for (const event of events) folded.state = aggregate.decider.evolve(folded.state, event);
  folded.revision = revision;
  live.isPresumedAbsent = false;
  live.inFlight.push(entry);
  return entry;
};

/** Starts an append and folds its events at once. */
export const startAppend = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  decided: Decided<E, R>,
  onFailure: OnFailure<S, C, R>,
): void => {
  const entry = foldInFlight(live, turn, decided);
  if (entry === undefined) return;
  live.services.store.append(live.stream, entry.expected, entry.encoded).then(
    (appended) => settle(live, entry, { appended }, onFailure),
    (error: unknown) => settle(live, entry, { error }, onFailure),
  );
};

const settle = <S, C, E, R>(
  live: Live<S, C, E, R>,
  entry: InFlight<C, R>,
  result: NonNullable<InFlight<C, R>['result']>,
  onFailure: OnFailure<S, C, R>,
): void => {
  entry.result = result;
  if ('error' in result) live.hasFailed = true;
  if (!live.hasFailed) answerDurable(live);
  else if (live.inFlight.every((each) => each.result !== undefined)) onFailure(endFailedAppends(live));
  if (live.inFlight.length === 0) live.onSettled?.();
};

/**
 * Answers the commands whose events are durable, in stream order, up to the first that is still in flight or has
 * failed.
 */
export const answerDurable = <S, C, E, R>(live: Live<S, C, E, R>): void => {
  for (let first = live.inFlight[0]; first?.result !== undefined; first = live.inFlight[0]) {
    if ('error' in first.result) return;
    live.inFlight.shift();
    answerEntry(live, first, first.result.appended);
  }
  if (live.inFlight.length === 0) live.inFlight = []; // an emptied array keeps capacity for sixteen elements
};

const answerEntry = <S, C, E, R>(live: Live<S, C, E, R>, entry: InFlight<C, R>, appended: Appended): void => {
  live.position = appended.position;
  live.onDurable(appended);
  answerCommand(entry.by, entry.refusal, appended);
  for (const { turn, refusal } of entry.followers) answerCommand(turn, refusal, appended);
};

/** Resolves when no append is in flight. */
export const settled = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<void> => {
  if (live.inFlight.length > 0) await new Promise<void>((resolve) => (live.onSettled = resolve));
  live.onSettled = undefined;
};

/** Answers a command with its decision. */
export const answerCommand = <C, R>(turn: CommandTurn<C, R>, refusal: R | undefined, at: Appended): void =>
  turn.resolve(
    refusal === undefined ? { kind: 'accepted', ...at } : { kind: 'refused', refusal, position: at.position },
  );

/**
 * Answers a command without events once the appends that its decision depends on are durable; at once when none is in
 * flight.
 */
export const answerWhenDurable = <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  refusal: R | undefined,
): void => {
  const last = live.inFlight.at(-1);
  if (last !== undefined) last.followers.push({ turn, refusal });
  else answerCommand(turn, refusal, { revision: live.folded?.revision ?? -1n, position: live.position });
};

/**
 * Ends all appends after one has failed: answers the commands whose events became durable all the same, and rejects
 * those that are not to be retried.
 *
 * @returns the turns to decide again, in order: commands after a revision conflict, and those that waited for any
 *   failed append.
 */
export const endFailedAppends = <S, C, E, R>(live: Live<S, C, E, R>): Turn<S, C, R>[] => {
  const entries = live.inFlight;
  live.inFlight = [];
  return entries.flatMap((entry) => {
    const { by, result, followers } = entry;
    if (result === undefined || 'appended' in result) {
      if (result !== undefined) answerEntry(live, entry, result.appended);
      return [];
    }
    const isAgain = result.error instanceof RevisionConflict && by.attempts < MAX_ATTEMPTS;
    if (!isAgain) by.reject(result.error);
    return [...(isAgain ? [{ ...by, attempts: by.attempts + 1 }] : []), ...followers.map(({ turn }) => turn)];
  });
};
