import type { NewEvent, RecordedEvent } from '../kernel/event.js';
import type { Appended } from '../kernel/ports/event-store.js';
import { RevisionConflict } from '../kernel/fault.js';
import { answer, encode, noteIn, settled } from './flight.js';
import { fold, foldEvent } from './fold.js';
import { goAlone } from './joined.js';
import type { CommandTurn, Decided, FoldedHere, Live } from './live.js';

/** The most retries of a command after another process has appended first. */
const MAX_ATTEMPTS = 100;

/** The most observed events that wait for the end of a turn. With more, the stream is folded again from the start. */
const MAX_NEWS = 1_000;

/**
 * Brings the state to the head of the stream, as of now. Reads on from the folded revision, or from the beginning when
 * no state is known.
 */
export const catchUp = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<void> => {
  const { tickets, folded, stream } = live;
  if (folded === undefined || live.isPresumed) return startOver(live);
  for await (const page of live.services.store.readStream(stream, { from: folded.revision + 1n })) {
    for (const event of page) foldEvent(live, folded, event);
  }
  live.isCurrentFor = tickets;
};

const startOver = async <S, C, E, R>(live: Live<S, C, E, R>): Promise<void> => {
  live.folded = undefined;
  const folded = await fold(live);
  live.isPresumed = false;
  live.folded = folded;
};

/**
 * Folds the events that were observed meanwhile and are not folded yet. When an event in between is missing, the state
 * is dropped.
 */
export const takeNews = <S, C, E, R>(live: Live<S, C, E, R>): void => {
  // Appends in flight have provisional revisions that other processes may have taken: their results tell.
  if (live.news.length === 0 || live.inFlight.length > 0) return;
  for (const event of live.news.splice(0)) {
    const { folded } = live;
    if (folded === undefined || event.revision <= folded.revision) continue;
    if (live.isPresumed || event.revision > folded.revision + 1n) live.folded = undefined;
    else foldNews(live, folded, event);
  }
};

const foldNews = <S, C, E, R>(live: Live<S, C, E, R>, folded: FoldedHere<S>, event: RecordedEvent): void => {
  try {
    foldEvent(live, folded, event);
  } catch {
    live.folded = undefined; // the next turn folds the stream and gets the error
  }
};

/** Queues an event of the stream to be folded. A turn in progress continues with the state that it has. */
export const observe = <S, C, E, R>(live: Live<S, C, E, R>, event: RecordedEvent): void => {
  if (live.folded === undefined ? !live.isBusy : event.revision <= live.folded.revision) return;
  if (live.news.length === MAX_NEWS) live.news.pop(); // the gap before the last one shows that events are missing
  live.news.push(event);
  if (!live.isBusy) takeNews(live);
};

/**
 * True when other processes may have appended events that would change an answer without events. Permanent refusals
 * cannot change.
 */
export const mayBeOvertaken = <S, C, E, R>(
  { services, aggregate, isCurrentFor }: Live<S, C, E, R>,
  { ticket }: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
): boolean =>
  services.isShared === true &&
  events.length === 0 &&
  isCurrentFor < ticket &&
  (refusal === undefined || !aggregate.isForGood(refusal));

/** Brings the state to the head of the stream and queues the command again as the next turn. */
export const decideAtHead = async <S, C, E, R>(live: Live<S, C, E, R>, turn: CommandTurn<C, R>): Promise<void> => {
  await settled(live);
  // The appends in flight may have brought the state to the head.
  if (live.folded === undefined || live.isCurrentFor < turn.ticket) await catchUp(live);
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
export const appendAlone = async <S, C, E, R>(
  live: Live<S, C, E, R>,
  turn: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
): Promise<void> => {
  const { folded, aggregate, stream, tickets } = live;
  if (folded === undefined) return decideAtHead(live, turn);
  const { encoded, about } = encode(live, turn, { events, refusal });
  const appended = await appendOnce(live, folded.revision, encoded);
  if (appended === undefined) {
    if (turn.attempts >= MAX_ATTEMPTS) throw new RevisionConflict(`${stream} is never where it is expected`);
    goAlone(live);
    await catchUp(live);
    live.queue.unshift({ ...turn, attempts: turn.attempts + 1 });
    return;
  }
  for (const event of events) folded.state = aggregate.decider.evolve(folded.state, event);
  folded.revision = appended.revision;
  noteIn(folded, about);
  Object.assign(live, { isPresumed: false, isCurrentFor: tickets, position: appended.position });
  live.aloneFor = Math.max(0, live.aloneFor - 1);
  live.onDurable(appended);
  answer(turn, refusal, appended);
};
