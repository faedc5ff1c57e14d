import type { NewEvent } from '../kernel/event.js';
import { MAX_APPEND_BYTES } from '../kernel/ports/event-store.js';
import { AppendTooLarge, RevisionConflict } from '../kernel/fault.js';
import { answerDurable, foldInFlight, endFailedAppends } from './in-flight.js';
import type { Decided, InFlight, Live, OnFailure } from './live.js';

/**
 * The number of commands that are appended one by one after a conflict, because a conflict makes a whole batch be
 * decided again on a newly folded state.
 */
const UNBATCHED_AFTER_CONFLICT = 64;

/** An upper bound of the size of an append, in bytes: a UTF-16 unit takes three bytes at most. */
const maxBytesOf = (events: readonly NewEvent[]): number =>
  events.reduce(
    (bytes, { id, type, data, metadata }) => bytes + id.length + data.length + 3 * (type.length + metadata.length),
    0,
  );

/** The first commands of the queue that fit into one append; at least one. */
const firstBatch = <C, R>(waiting: readonly InFlight<C, R>[]): readonly InFlight<C, R>[] => {
  let bytes = 0;
  const end = waiting.findIndex(({ encoded }, at) => (bytes += maxBytesOf(encoded)) > MAX_APPEND_BYTES && at > 0);
  return end < 0 ? waiting.slice() : waiting.slice(0, end);
};

/**
 * True when a command is appended in a batch: other commands wait behind it or are in flight before it, and no other
 * process is known to write the stream.
 */
export const isBatched = <S, C, E, R>({ unbatchedFor, queue, inFlight }: Live<S, C, E, R>): boolean =>
  unbatchedFor === 0 && (queue.length > 0 || inFlight.length > 0);

/** Makes the next commands append one by one, each decided on a state that the log had. */
export const stopBatching = <S, C, E, R>(live: Live<S, C, E, R>): void => {
  live.unbatchedFor = UNBATCHED_AFTER_CONFLICT;
};

/**
 * Folds events at once, and appends them in a batch with those of neighbouring commands. One append of the stream is in
 * flight at a time: a batch is never sent before the outcome of the append that it depends on is known.
 */
export const appendBatched = <S, C, E, R>(
  live: Live<S, C, E, R>,
  by: InFlight<C, R>['by'],
  decided: Decided<E, R>,
  onFailure: OnFailure<S, C, R>,
): void => {
  if (foldInFlight(live, by, decided) === undefined) return;
  // Commands that are decided in the same turn of the event loop form one batch.
  queueMicrotask(() => send(live, onFailure));
};

const send = <S, C, E, R>(live: Live<S, C, E, R>, onFailure: OnFailure<S, C, R>): void => {
  const together = live.isSending ? [] : firstBatch(live.inFlight);
  const [first] = together;
  if (first === undefined) return;
  live.isSending = true;
  const { lastTicket, stream, services } = live;
  const events = together.flatMap(({ encoded }) => encoded);
  services.store.append(stream, first.expected, events).then(
    ({ position }) => {
      live.isSending = false;
      live.currentForTicket = Math.max(live.currentForTicket, lastTicket);
      for (const entry of together) entry.result = { appended: { revision: entry.revision, position } };
      answerDurable(live);
      send(live, onFailure);
      if (live.inFlight.length === 0) live.onSettled?.();
    },
    (error: unknown) => {
      live.isSending = false;
      fail(live, together, error);
      onFailure(endFailedAppends(live));
      live.onSettled?.();
    },
  );
};

/**
 * Fails a batch and everything behind it. The commands behind it are decided again, and so are those of a batch that
 * was only too large as a whole.
 */
const fail = <S, C, E, R>(live: Live<S, C, E, R>, together: readonly InFlight<C, R>[], error: unknown): void => {
  const again = new RevisionConflict(`${live.stream} has another revision than expected`, error);
  const isTooLargeTogether = error instanceof AppendTooLarge && together.length > 1;
  for (const entry of live.inFlight) entry.result = { error: again };
  for (const entry of together) entry.result = { error: isTooLargeTogether ? again : error };
  stopBatching(live);
};
