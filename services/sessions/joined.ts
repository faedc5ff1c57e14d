import type { NewEvent } from '../kernel/event.js';
import { MAX_APPEND_BYTES } from '../kernel/ports/event-store.js';
import { AppendTooLarge, RevisionConflict } from '../kernel/fault.js';
import { answerDurable, count, sortOut } from './flight.js';
import type { Decided, InFlight, Live, OnFailure } from './live.js';

/** After another process was faster, so many commands go alone: what was decided together is folded anew for each. */
const ALONE_AFTER_CONFLICT = 64;

/** An upper bound of what an append takes: a character has three bytes at most. */
const roomFor = (events: readonly NewEvent[]): number =>
  events.reduce(
    (bytes, { id, type, data, metadata }) => bytes + id.length + data.length + 3 * (type.length + metadata.length),
    0,
  );

/** From the first of those that wait, as many as one append takes; always one. */
const fitting = <C, R>(waiting: readonly InFlight<C, R>[]): readonly InFlight<C, R>[] => {
  let bytes = 0;
  const end = waiting.findIndex(({ encoded }, at) => (bytes += roomFor(encoded)) > MAX_APPEND_BYTES && at > 0);
  return end < 0 ? waiting.slice() : waiting.slice(0, end);
};

/**
 * Whether a command goes with others: where some wait behind it, or before it, and no other process writes the stream
 * as far as this one knows.
 */
export const goesWithOthers = <S, C, E, R>({ aloneFor, queue, inFlight }: Live<S, C, E, R>): boolean =>
  aloneFor === 0 && (queue.length > 0 || inFlight.length > 0);

/** Has the next commands go alone, each on a state that the log had. */
export const goAlone = <S, C, E, R>(live: Live<S, C, E, R>): void => {
  live.aloneFor = ALONE_AFTER_CONFLICT;
};

/**
 * Counts events in at once, and appends them with those of the commands beside it. One append of the stream is on its
 * way at a time: nothing is sent that was decided on another whose outcome is not known.
 */
export const appendWithOthers = <S, C, E, R>(
  live: Live<S, C, E, R>,
  by: InFlight<C, R>['by'],
  decided: Decided<E, R>,
  onFailure: OnFailure<S, C, R>,
): void => {
  if (count(live, by, decided) === undefined) return;
  // What is decided in the same turn of the event loop goes together.
  queueMicrotask(() => send(live, onFailure));
};

const send = <S, C, E, R>(live: Live<S, C, E, R>, onFailure: OnFailure<S, C, R>): void => {
  const together = live.isSending ? [] : fitting(live.inFlight);
  const [first] = together;
  if (first === undefined) return;
  live.isSending = true;
  const { tickets, stream, services } = live;
  const events = together.flatMap(({ encoded }) => encoded);
  services.store.append(stream, first.expected, events).then(
    ({ position }) => {
      live.isSending = false;
      live.isCurrentFor = Math.max(live.isCurrentFor, tickets);
      for (const entry of together) entry.result = { appended: { revision: entry.revision, position } };
      answerDurable(live);
      send(live, onFailure);
      if (live.inFlight.length === 0) live.onSettled?.();
    },
    (error: unknown) => {
      live.isSending = false;
      fail(live, together, error);
      onFailure(sortOut(live));
      live.onSettled?.();
    },
  );
};

/** What was sent has failed; what was to follow is decided again, and so is what may be recorded by itself. */
const fail = <S, C, E, R>(live: Live<S, C, E, R>, together: readonly InFlight<C, R>[], error: unknown): void => {
  const again = new RevisionConflict(`${live.stream} is not where it was expected`, error);
  const isTooLargeTogether = error instanceof AppendTooLarge && together.length > 1;
  for (const entry of live.inFlight) entry.result = { error: again };
  for (const entry of together) entry.result = { error: isTooLargeTogether ? again : error };
  goAlone(live);
};
