import type { NewEvent, RecordedEvent } from '../kernel/event.js';
import type { Appended } from '../kernel/ports/event-store.js';
import { RevisionConflict } from '../kernel/fault.js';
import { answer, encode, noteIn, settled } from './flight.js';
import { fold, foldEvent } from './fold.js';
import { goAlone } from './joined.js';
import type { CommandTurn, Decided, FoldedHere, Live } from './live.js';

/** How often a command is decided again because another process was faster. */
const MAX_ATTEMPTS = 100;

/** Events that may wait for the end of a turn; a stream with more is folded anew. */
const MAX_NEWS = 1_000;

/** Comes to the head of the stream as it is now, from what is folded. */
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

/** Folds what was recorded meanwhile, but for what is known. Where something between was missed, nothing is known. */
export const takeNews = <S, C, E, R>(live: Live<S, C, E, R>): void => {
  // What is on its way has revisions that others may have taken: its answer says.
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
    live.folded = undefined; // whoever asks next folds the stream, and hears why it cannot be
  }
};

/** Takes note of an event of the stream. A turn that is being taken goes on with the state that it has. */
export const observe = <S, C, E, R>(live: Live<S, C, E, R>, event: RecordedEvent): void => {
  if (live.folded === undefined ? !live.isBusy : event.revision <= live.folded.revision) return;
  if (live.news.length === MAX_NEWS) live.news.pop(); // the last one stays, and shows that some are missing
  live.news.push(event);
  if (!live.isBusy) takeNews(live);
};

/** Whether an answer without events may have been overtaken by what other processes have recorded. */
export const mayBeOvertaken = <S, C, E, R>(
  { services, aggregate, isCurrentFor }: Live<S, C, E, R>,
  { ticket }: CommandTurn<C, R>,
  { events, refusal }: Decided<E, R>,
): boolean =>
  services.isShared === true &&
  events.length === 0 &&
  isCurrentFor < ticket &&
  (refusal === undefined || !aggregate.isForGood(refusal));

/** Has a command decided at the head of the stream. */
export const decideAtHead = async <S, C, E, R>(live: Live<S, C, E, R>, turn: CommandTurn<C, R>): Promise<void> => {
  await settled(live);
  // What was on its way may have shown where the head is.
  if (live.folded === undefined || live.isCurrentFor < turn.ticket) await catchUp(live);
  live.queue.unshift(turn);
};

/** Where an append has come to; `undefined` when another process was faster. */
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
 * Appends, and counts the events in when they are durable: the state is always one that the log had, so that a conflict
 * costs no more than what others have recorded since.
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
