import type { Aggregate } from '../kernel/aggregate.js';
import { keyTaken } from '../kernel/command-context.js';
import type { RecordedEvent } from '../kernel/event.js';
import type { StreamParked } from '../kernel/fault.js';
import type { Appended, EventStore } from '../kernel/ports/event-store.js';
import { type Content, MAX_INLINE_BYTES, type PayloadStore } from '../kernel/ports/payload-store.js';
import type { CommandContext, Folded, Outcome } from '../kernel/ports/sessions.js';
import { callerDisconnected } from '../kernel/rpc.js';
import type { StreamName } from '../kernel/stream.js';
import { InFlightAppends } from './in-flight.js';
import { type FoldedState, StreamState } from './stream-state.js';
import { answerCommand, type CommandTurn, type Decided, type ReadTurn, type Turn } from './turn.js';
import { PipelinedWriter } from './writers/pipelined-writer.js';
import { SharedWriter } from './writers/shared-writer.js';
import type { Writer, WriterParts } from './writers/writer.js';

/** The services of the process that sessions need. */
export type SessionServices = {
  readonly store: EventStore;
  readonly payloads: PayloadStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The log format in which events are encoded; by default the newest. */
  readonly format?: () => number;
  /** True when other processes append to the log too. */
  readonly isShared?: boolean;
  /** Called with each stream that cannot be folded. */
  readonly onParked?: (parked: StreamParked) => void;
};

/** The input from which a session is made. */
export type SessionStart<State, Command, Event, Refusal> = {
  readonly aggregate: Aggregate<State, Command, Event, Refusal>;
  readonly stream: StreamName;
  readonly services: SessionServices;
  /** Called once for each command whose events have become durable. */
  readonly onDurable: (appended: Appended) => void;
};

const SESSION_BYTES = 1_000;

/** The ticket of a read for which the state as it is folded is new enough. */
const BEFORE_ALL = 0;

const isLarge = ({ content }: Content): boolean => content.case === 'inline' && content.value.length > MAX_INLINE_BYTES;

/**
 * The session of one stream: its state with all events in flight, and the commands and reads that wait for their turns.
 *
 * Commands are decided one after another, each on a state that includes the events of all commands before it, durable
 * or not; so the store can commit the events of several commands together. A command is answered when everything that
 * its decision depends on is durable. When an append fails, the decisions that depended on it are made again. On a
 * shared log, a command whose decision records nothing is answered only at the head of the stream, unless it is refused
 * permanently.
 */
export class StreamSession<State, Command, Event, Refusal> {
  readonly #aggregate: Aggregate<State, Command, Event, Refusal>;
  readonly #stream: StreamName;
  readonly #services: SessionServices;
  readonly #state: StreamState<State, Command, Event, Refusal>;
  readonly #inFlight: InFlightAppends<Command, Refusal>;
  readonly #writer: Writer<State, Command, Event, Refusal>;
  #queue: Turn<State, Command, Refusal>[] = [];
  /** True while the loop that takes turns runs. */
  #isBusy = false;

  constructor({ aggregate, stream, services, onDurable }: SessionStart<State, Command, Event, Refusal>) {
    const { store, now, format, onParked } = services;
    this.#aggregate = aggregate;
    this.#stream = stream;
    this.#services = services;
    this.#state = new StreamState({ aggregate, stream, store, now, format, onParked });
    const noteDurable = (appended: Appended): void => {
      this.#state.noteDurable(appended);
      onDurable(appended);
    };
    this.#inFlight = new InFlightAppends(noteDurable);
    const parts: WriterParts<State, Command, Event, Refusal> = {
      stream,
      store,
      state: this.#state,
      inFlight: this.#inFlight,
      onDurable: noteDurable,
      decideAgain: (turn) => void this.#queue.unshift(turn),
      startAgain: (turns) => this.#startAgain(turns),
    };
    this.#writer = services.isShared === true ? new SharedWriter(parts) : new PipelinedWriter(parts);
  }

  /** Decides a command, and records its events. */
  handle(command: Command, context: CommandContext): Promise<Outcome<Refusal>> {
    const ticket = this.#state.nextTicket();
    return new Promise((resolve, reject) =>
      this.#enqueue({ kind: 'command', command, context, ticket, attempts: 0, resolve, reject }),
    );
  }

  /** Computes an answer from the durable state; on a shared log, from all that any process had recorded before. */
  read<Answer>(select: (folded: Folded<State>) => Answer): Promise<Answer> {
    return this.#read(this.#state.nextTicket(), select);
  }

  /** Computes an answer from the durable state that this process knows. */
  readKnown<Answer>(select: (folded: Folded<State>) => Answer): Promise<Answer> {
    return this.#read(BEFORE_ALL, select);
  }

  #read<Answer>(ticket: number, select: (folded: Folded<State>) => Answer): Promise<Answer> {
    return new Promise((resolve, reject) =>
      this.#enqueue({ kind: 'read', ticket, select: (folded) => resolve(select(folded)), reject }),
    );
  }

  /** To be called with each event of the stream, in order, recorded by any process. */
  observe(event: RecordedEvent): void {
    this.#state.observe(event, this.#isBusy);
    if (!this.#isBusy) this.#foldObserved();
  }

  /** Lets the stream be read again after it was parked. */
  resume(): void {
    this.#state.resume();
  }

  /** The approximate memory, in bytes. */
  size(): number {
    return SESSION_BYTES + this.#state.size();
  }

  /** True when no turn waits and no append is in flight. */
  isIdle(): boolean {
    return this.#queue.length === 0 && this.#inFlight.isEmpty && !this.#isBusy;
  }

  /** True when hardly any further use is expected, as after the end of an execution: it is evicted first. */
  isOver(): boolean {
    const { folded } = this.#state;
    return folded !== undefined && this.#aggregate.isOver?.(folded.state) === true;
  }

  #enqueue(turn: Turn<State, Command, Refusal>): void {
    this.#queue.push(turn);
    if (!this.#isBusy) void this.#takeTurns();
  }

  /** Takes turns until none waits or an append has failed. It yields only where a turn has to wait. */
  async #takeTurns(): Promise<void> {
    this.#isBusy = true;
    try {
      while (this.#queue.length > 0 && !this.#inFlight.hasFailed) {
        this.#foldObserved();
        this.#state.dropAssumption();
        const folded = this.#state.folded ?? (await this.#firstState());
        const turn = this.#queue.shift();
        const waiting = turn === undefined ? undefined : this.#take(turn, folded);
        if (waiting !== undefined) await waiting;
      }
    } catch (error) {
      for (const turn of this.#queue.splice(0)) turn.reject(error);
    } finally {
      this.#isBusy = false;
      if (this.#queue.length === 0) this.#queue = []; // an emptied array keeps capacity for sixteen elements
    }
  }

  /**
   * Folds observed events, but none while appends are in flight. The revisions of appends in flight are provisional: an
   * observed event of another process may have one of them, and the append then fails.
   */
  #foldObserved(): void {
    if (this.#inFlight.isEmpty) this.#state.foldObserved();
  }

  /** The state of a cold stream: read from the log, or assumed when the next command creates the stream. */
  async #firstState(): Promise<FoldedState<State>> {
    const [turn] = this.#queue;
    const isCreated =
      turn?.kind === 'command' && turn.attempts === 0 && this.#aggregate.createsStream?.(turn.command) === true;
    return isCreated ? this.#state.presumeAbsent() : this.#state.fold();
  }

  /** @returns a promise only when the stream has to wait for something. */
  #take(turn: Turn<State, Command, Refusal>, folded: FoldedState<State>): Promise<void> | undefined {
    try {
      const waiting = turn.kind === 'read' ? this.#show(turn, folded) : this.#decide(turn, folded);
      return waiting?.catch(turn.reject);
    } catch (error) {
      turn.reject(error);
      return undefined;
    }
  }

  /** Lets a read see the durable state. Later commands wait meanwhile, so that none of their events are in it. */
  #show(turn: ReadTurn<State>, folded: FoldedState<State>): Promise<void> | undefined {
    if (!this.#inFlight.isEmpty || this.#writer.mayLackEvents(turn.ticket)) return this.#takeAtHead(turn);
    turn.select({ ...folded, position: this.#state.position });
    return undefined;
  }

  /** Brings the durable state up to date for a turn, and puts the turn back. */
  async #takeAtHead(turn: Turn<State, Command, Refusal>): Promise<void> {
    await this.#inFlight.settled();
    // The appends in flight may have brought the state to the head.
    if (this.#writer.mayLackEvents(turn.ticket)) await this.#state.catchUp();
    this.#putBack(turn);
  }

  #decide(turn: CommandTurn<Command, Refusal>, folded: FoldedState<State>): Promise<void> | undefined {
    if (turn.context.isCancelled?.() === true) throw callerDisconnected();
    const prior = this.#state.priorUseBy(turn);
    if (prior === 'another') throw keyTaken();
    if (prior === 'same') {
      this.#answerWhenDurable(turn, undefined);
      return undefined;
    }
    const decision = this.#aggregate.decider.decide(folded.state, turn.command);
    if (decision.kind === 'unsure') return this.#decideWithPast(turn, decision.at);
    const refusal = decision.kind === 'refused' ? decision.refusal : undefined;
    const decided = { events: decision.events ?? [], refusal };
    return decided.events.length === 0 ? this.#answer(turn, refusal) : this.#record(turn, decided, folded);
  }

  /**
   * Answers a command that has no events. A permanent refusal does not wait for the state to reach the head of the
   * stream; any other answer is given only there. Both wait for the appends in flight.
   */
  #answer(turn: CommandTurn<Command, Refusal>, refusal: Refusal | undefined): Promise<void> | undefined {
    const isPermanent = refusal !== undefined && this.#aggregate.isPermanentRefusal(refusal);
    if (!isPermanent && this.#writer.mayLackEvents(turn.ticket)) return this.#takeAtHead(turn);
    this.#answerWhenDurable(turn, refusal);
    return undefined;
  }

  #answerWhenDurable(turn: CommandTurn<Command, Refusal>, refusal: Refusal | undefined): void {
    if (this.#inFlight.follow(turn, refusal)) return;
    const { folded, position } = this.#state;
    answerCommand(turn, refusal, { revision: folded?.revision ?? -1n, position });
  }

  #record(
    turn: CommandTurn<Command, Refusal>,
    decided: Decided<Event, Refusal>,
    folded: FoldedState<State>,
  ): Promise<void> | undefined {
    const large = decided.events.flatMap((event) => this.#aggregate.codec.contents(event).filter(isLarge));
    if (large.length === 0) return this.#writer.append(turn, decided, folded, this.#queue.length > 0);
    if (!this.#state.isPresumedAbsent) return this.#moveThenAppend(turn, decided, large);
    // The stream may exist after all, created by another command: it is read before a payload is stored for it.
    this.#state.forget();
    this.#queue.unshift({ ...turn, attempts: turn.attempts + 1 });
    return undefined;
  }

  async #moveThenAppend(
    turn: CommandTurn<Command, Refusal>,
    decided: Decided<Event, Refusal>,
    large: readonly Content[],
  ): Promise<void> {
    const scope = this.#aggregate.payloadScope(turn.command);
    for (const part of large) {
      const bytes = part.content.case === 'inline' ? part.content.value : new Uint8Array();
      part.content = { case: 'ref', value: await this.#services.payloads.put(scope, bytes) };
    }
    const { folded } = this.#state;
    // An append before this one may have failed meanwhile; then the decision is no longer valid.
    if (folded === undefined || this.#inFlight.hasFailed) this.#putBack(turn);
    else await this.#writer.append(turn, decided, folded, this.#queue.length > 0);
  }

  /** Reads the events that a decision needs, when they are durable, and has the command decided again with them. */
  async #decideWithPast(turn: CommandTurn<Command, Refusal>, at: readonly bigint[]): Promise<void> {
    if (this.#aggregate.compareWithRecorded === undefined)
      throw new Error(`${this.#aggregate.category} has an unsure decision and no compareWithRecorded`);
    if (this.#inFlight.includes(at)) {
      await this.#inFlight.settled();
      this.#putBack(turn);
      return;
    }
    const past: RecordedEvent[] = [];
    for (const from of at)
      for await (const page of this.#services.store.readStream(this.#stream, { from, limit: 1 })) past.push(...page);
    const command = await this.#aggregate.compareWithRecorded(turn.command, past);
    this.#putBack({ ...turn, command });
  }

  /** Puts a turn first again, but after the commands before it whose append has failed while it waited. */
  #putBack(turn: Turn<State, Command, Refusal>): void {
    const next = this.#queue.findIndex(({ kind, ticket }) => kind === 'read' || ticket > turn.ticket);
    this.#queue.splice(next < 0 ? this.#queue.length : next, 0, turn);
  }

  #startAgain(turns: readonly CommandTurn<Command, Refusal>[]): void {
    this.#state.forget();
    this.#queue = [...turns, ...this.#queue];
    if (!this.#isBusy && this.#queue.length > 0) void this.#takeTurns();
  }
}
