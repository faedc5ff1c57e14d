import type { NewEvent } from '../../kernel/event.js';
import { AppendTooLarge, OutcomeUnknown, RevisionConflict, StoreUnavailable } from '../../kernel/fault.js';
import { type Appended, MAX_APPEND_BYTES } from '../../kernel/ports/event-store.js';
import type { FoldedState } from '../stream-state.js';
import { answerCommand, type CommandTurn, type Decided, type InFlight } from '../turn.js';
import { foldInFlight, type Writer, type WriterParts } from './writer.js';

/** A command fails after this number of attempts, when other processes have appended before each of them. */
const MAX_ATTEMPTS = 100;

/**
 * The number of commands that are appended one by one after a conflict or a failed batch, because a failure makes a
 * whole batch be decided again on a newly folded state.
 */
const UNBATCHED_AFTER_CONFLICT = 64;

/** An upper bound of the size of an append, in bytes: a UTF-16 unit takes three bytes at most. */
const maxBytesOf = (events: readonly NewEvent[]): number =>
  events.reduce(
    (bytes, { id, type, data, metadata }) => bytes + id.length + data.length + 3 * (type.length + metadata.length),
    0,
  );

/** The first commands in flight that fit into one append; at least one. */
const firstBatch = <C, R>(waiting: readonly InFlight<C, R>[]): readonly InFlight<C, R>[] => {
  let bytes = 0;
  const end = waiting.findIndex(({ encoded }, at) => (bytes += maxBytesOf(encoded)) > MAX_APPEND_BYTES && at > 0);
  return end < 0 ? waiting.slice() : waiting.slice(0, end);
};

/**
 * The writer of a log that other processes append to as well. One append of the stream is in flight at a time, for one
 * command or for a batch of those that wait together. After a conflict or a failed batch, commands are appended one by
 * one, each decided on a state that the log had.
 */
export class SharedWriter<State, Command, Event, Refusal> implements Writer<State, Command, Event, Refusal> {
  readonly #parts: WriterParts<State, Command, Event, Refusal>;
  #isSending = false;
  /** The number of commands that are still to be appended one by one. */
  #unbatchedFor = 0;

  constructor(parts: WriterParts<State, Command, Event, Refusal>) {
    this.#parts = parts;
  }

  mayLackEvents(ticket: number): boolean {
    return !this.#parts.state.isCurrentFor(ticket);
  }

  append(
    turn: CommandTurn<Command, Refusal>,
    decided: Decided<Event, Refusal>,
    folded: FoldedState<State>,
    othersWait: boolean,
  ): Promise<void> | undefined {
    const isBatched = this.#unbatchedFor === 0 && (othersWait || !this.#parts.inFlight.isEmpty);
    if (!isBatched) return this.#appendAlone(turn, decided, folded);
    foldInFlight(this.#parts, turn, decided, folded);
    // Commands that are decided in the same turn of the event loop form one batch.
    queueMicrotask(() => this.#sendBatch());
    return undefined;
  }

  /** Sends the next batch, unless one is in flight: its outcome decides whether the next may follow. */
  #sendBatch(): void {
    const { store, stream, state, inFlight } = this.#parts;
    const batch = this.#isSending ? [] : firstBatch(inFlight.entries);
    const [first] = batch;
    if (first === undefined) return;
    this.#isSending = true;
    const ticket = state.lastTicket;
    const events = batch.flatMap(({ encoded }) => encoded);
    store.append(stream, first.expected, events).then(
      (appended) => this.#batchAppended(batch, appended, ticket),
      (error: unknown) => this.#batchFailed(batch, error),
    );
  }

  #batchAppended(batch: readonly InFlight<Command, Refusal>[], { position }: Appended, ticket: number): void {
    const { state, inFlight } = this.#parts;
    this.#isSending = false;
    state.noteCurrentFor(ticket);
    for (const entry of batch) entry.result = { appended: { revision: entry.revision, position } };
    inFlight.answerDurable();
    this.#sendBatch();
  }

  /**
   * Fails a batch and everything behind it. The commands behind it are decided again; those of the batch only after a
   * conflict, or where the batch was too large as a whole.
   */
  #batchFailed(batch: readonly InFlight<Command, Refusal>[], error: unknown): void {
    const { stream, inFlight, startAgain } = this.#parts;
    this.#isSending = false;
    const conflict = new RevisionConflict(`${stream} has another revision than expected`, error);
    const isTooLargeTogether = error instanceof AppendTooLarge && batch.length > 1;
    for (const entry of inFlight.entries) entry.result = { error: conflict };
    for (const entry of batch) entry.result = { error: isTooLargeTogether ? conflict : error };
    this.#unbatchedFor = UNBATCHED_AFTER_CONFLICT;
    startAgain(inFlight.endFailed());
  }

  /**
   * Appends, and folds the events only when they are durable: the state is then always one that the log had, so that a
   * conflict costs only reading what others have appended since.
   *
   * @throws {RevisionConflict} after 100 attempts.
   */
  async #appendAlone(
    turn: CommandTurn<Command, Refusal>,
    decided: Decided<Event, Refusal>,
    folded: FoldedState<State>,
  ): Promise<void> {
    const { state } = this.#parts;
    const ticket = state.lastTicket;
    const { encoded, metadata } = state.encode(turn, decided);
    const appended = await this.#appendOnce(folded.revision, encoded);
    if (appended === undefined) return this.#afterConflict(turn);
    state.apply(folded, decided.events, metadata, appended.revision);
    state.noteCurrentFor(ticket);
    this.#unbatchedFor = Math.max(0, this.#unbatchedFor - 1);
    this.#parts.onDurable(appended);
    answerCommand(turn, decided.refusal, appended);
  }

  /** Appends once; `undefined` on a revision conflict, when another process has appended first. */
  async #appendOnce(expected: bigint, events: readonly NewEvent[]): Promise<Appended | undefined> {
    const { store, stream, state } = this.#parts;
    try {
      return await store.append(stream, expected < 0n ? 'no-stream' : expected, events);
    } catch (error) {
      if (error instanceof RevisionConflict) return undefined;
      // The next command then reads the stream first. While the store is away, this fails all commands that wait;
      // otherwise each of them would wait for the failure of its own append, one after another.
      if (error instanceof StoreUnavailable || error instanceof OutcomeUnknown) state.forget();
      throw error;
    }
  }

  async #afterConflict(turn: CommandTurn<Command, Refusal>): Promise<void> {
    const { stream, state, decideAgain } = this.#parts;
    const attempts = turn.attempts + 1;
    if (attempts >= MAX_ATTEMPTS)
      throw new RevisionConflict(`other processes have appended to ${stream} before each of ${MAX_ATTEMPTS} attempts`);
    this.#unbatchedFor = UNBATCHED_AFTER_CONFLICT;
    await state.catchUp();
    decideAgain({ ...turn, attempts });
  }
}
