import type { NewEvent, RecordedEvent } from '../kernel/event.js';
import type { Appended } from '../kernel/ports/event-store.js';
import { RevisionConflict } from '../kernel/fault.js';
import { answerCommand, encode, rememberKey, settled } from './in-flight.js';
import { fold, foldEvent } from './fold.js';
import { stopBatching } from './batched-append.js';
import type { CommandTurn, Decided, FoldedState, Live } from './live.js';

/** The most retries of a command after another process has appended first. */
const MAX_ATTEMPTS = 100;

/** The most observed events that wait for the end of a turn. With more, the stream is folded again from the start. */
const MAX_OBSERVED = 1_000;

/**
 * Brings the state to the head of the stream, as of now. Reads on from the folded revision, or from the beginning when
 * no state is known.
 */
export const catchUp = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<void> => {
  const { lastTicket, folded, stream } = live;
  if (folded === undefined || live.isPresumedAbsent) return startOver(live);
  for await (const page of live.services.store.readStream(stream, { from: folded.revision + 1n })) {
    for (const event of page) foldEvent(live, folded, event);
  }
  live.currentForTicket = lastTicket;
};

const startOver = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<void> => {
  live.folded = undefined;
  const folded = await fold(live);
  live.isPresumedAbsent = false;
  live.folded = folded;
};

/**
 * Folds the events that were observed meanwhile and are not folded yet. When an event in between is missing, the state
 * is dropped.
 */
export const foldObserved = <S, C, E, R>(live: Live<S, C, E, R>): void => {
  // Appends in flight have provisional revisions that other processes may have taken: their results tell.
  if (live.observed.length === 0 || live.inFlight.length > 0) return;
  for (const event of live.observed.splice(0)) {
    const { folded } = live;
    if (folded === undefined || event.revision <= folded.revision) continue;
    if (live.isPresumedAbsent || event.revision > folded.revision + 1n) live.folded = undefined;
    else foldObservedEvent(live, folded, event);
  }
};

const foldObservedEvent = <S, C, E, R>(live: Live<S, C, E, R>, folded: FoldedState<S>, event: RecordedEvent): void => {
  try {
    foldEvent(live, folded, event);
  } catch {
    live.folded = undefined; // the next turn folds the stream and gets the error
  }
};

/** Queues an event of the stream to be folded. A turn in progress continues with the state that it has. */
export const observe = <S, C, E, R>(live: Live<S, C, E, R>, event: RecordedEvent): void => {
  if (live.folded === undefined ? !live.isBusy : event.revision <= live.folded.revision) return;
  if (live.observed.length === MAX_OBSERVED) live.observed.pop(); // the gap before the last one shows that events are missing
  live.observed.push(event);
  if (!live.isBusy) foldObserved(live);
};

/**
 * True when other processes may have appended events that would change an answer without events. Permanent refusals
 * cannot change.
 */
export const mayBeStale = <S, C, E, R>(
  { services, aggregate, currentForTicket }: Live<S, C, E, R>,
  { ticket }: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
): boolean =>
  services.isShared === true &&
  events.length === 0 &&
  currentForTicket < ticket &&
  (refusal === undefined || !aggregate.isPermanent(refusal));

/** Brings the state to the head of the stream and queues the command again as the next turn. */
export const decideAtHead = async <S, C, E, R>(live: Live<S, C, E, R>, turn: CommandTurn<C, R>): Promise<void> => {
  await settled(live);
  // The appends in flight may have brought the state to the head.
  if (live.folded === undefined || live.currentForTicket < turn.ticket) await catchUp(live);
  live.queue.unshift(turn);
};

/** Appends once; `undefined` on a revision conflict, when another process has appended first. */
const appendOnce = async <S, C, E, R>(
  { services, stream }: Live<S, C, E, R>,
  expected: bigint,
  events: readonly NewEvent[],
): Promise<Appended | undefined> => {
  try {
    return await services.store.append(stream, expected < 0n ? 'no-stream' : expected, events);
  } catch (error) {
    if (error instanceof RevisionConflict) return undefined;
    throw error;
  }
};

/**
 * Appends, and folds the events only when they are durable: the state is then always one that the log had, so that a
 * conflict costs only reading what others have appended since.
 *
 * @throws {RevisionConflict} after 100 retries.
 */
export const appendUnbatched = async <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
): Promise<void> => {
  const { folded, aggregate, stream, lastTicket } = live;
  if (folded === undefined) return decideAtHead(live, turn);
  const { encoded, about } = encode(live, turn, { events, refusal });
  const appended = await appendOnce(live, folded.revision, encoded);
  if (appended === undefined) {
    if (turn.attempts >= MAX_ATTEMPTS)
      throw new RevisionConflict(`other processes have appended to ${stream} before each of ${MAX_ATTEMPTS} attempts`);
    stopBatching(live);
    await catchUp(live);
    live.queue.unshift({ ...turn, attempts: turn.attempts + 1 });
    return;
  }
  for (const event of events) folded.state = aggregate.decider.evolve(folded.state, event);
  folded.revision = appended.revision;
  rememberKey(folded, about);
  live.isPresumedAbsent = false;
  live.currentForTicket = lastTicket;
  live.position = appended.position;
  live.unbatchedFor = Math.max(0, live.unbatchedFor - 1);
  live.onDurable(appended);
  answerCommand(turn, refusal, appended);
};
