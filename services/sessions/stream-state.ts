import type { Aggregate } from '../kernel/aggregate.js';
import { readingEvent } from '../kernel/decode-event.js';
import { type EventMetadata, metadataOf, type RecordedEvent } from '../kernel/event.js';
import { StreamParked } from '../kernel/fault.js';
import { type KnownKeys, noteKey, previousUse, sizeOfKeys } from '../kernel/idempotency.js';
import type { Appended, EventStore } from '../kernel/ports/event-store.js';
import type { StreamName } from '../kernel/stream.js';
import { type Encoded, encodeEvents, commandTargetOf } from './encode-events.js';
import type { CommandTurn, Decided } from './turn.js';

/** Maximum number of observed events that wait to be folded. With more, the stream is folded again. */
const MAX_OBSERVED = 1_000;

/** The state of a stream and the revision up to which it is folded; -1n before the first event. */
export type FoldedState<State> = { state: State; revision: bigint; keys?: KnownKeys };

/**
 * The knowledge that a process has of a stream.
 *
 * - `cold`: nothing; the stream has to be read.
 * - `presumed absent`: the initial state is assumed without a read, because the next command creates the stream.
 * - `folded`: the state with all events in flight, and the revision that the stream will have.
 */
type Knowledge<State> =
  | { readonly kind: 'cold' }
  | { readonly kind: 'presumed absent' | 'folded'; readonly folded: FoldedState<State> };

const COLD = { kind: 'cold' } as const;

/** The stream, and the services of the process that its state needs. */
export type StreamSource<State, Command, Event, Refusal> = {
  readonly aggregate: Aggregate<State, Command, Event, Refusal>;
  readonly stream: StreamName;
  readonly store: Pick<EventStore, 'readStream'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The log format in which events are encoded; by default the newest. */
  readonly format?: (() => number) | undefined;
  /** Called when the stream cannot be folded. */
  readonly onParked?: ((parked: StreamParked) => void) | undefined;
};

/** The state of one stream, and how current it is. Only this object folds events of the stream. */
export class StreamState<State, Command, Event, Refusal> {
  readonly #source: StreamSource<State, Command, Event, Refusal>;
  #known: Knowledge<State> = COLD;
  /**
   * The reason why this release cannot fold the stream. While it is set, the stream is not read from the start again.
   */
  #parked: StreamParked | undefined;
  #position = 0n;
  #recordedAtMs = 0;
  #lastTicket = 0;
  #currentForTicket = 0;
  /**
   * Events that were observed during a turn or while appends were in flight, recorded by any process; folded between
   * two turns, when no append is in flight.
   */
  #observed: RecordedEvent[] = [];

  constructor(source: StreamSource<State, Command, Event, Refusal>) {
    this.#source = source;
  }

  /** `undefined` while the stream is cold. */
  get folded(): FoldedState<State> | undefined {
    return this.#known.kind === 'cold' ? undefined : this.#known.folded;
  }

  get isPresumedAbsent(): boolean {
    return this.#known.kind === 'presumed absent';
  }

  /** The position of the last durable event; 0n before the first. */
  get position(): bigint {
    return this.#position;
  }

  /** The approximate memory, in bytes. */
  size(): number {
    const { folded } = this;
    if (folded === undefined) return 0;
    const keys = folded.keys === undefined ? 0 : sizeOfKeys(folded.keys);
    return this.#source.aggregate.sizeOf(folded.state) + keys;
  }

  /** Gives a number to a turn that is requested now: 1 to the first turn of the stream. */
  nextTicket(): number {
    return (this.#lastTicket += 1);
  }

  /** The number of the last turn that was requested. */
  get lastTicket(): number {
    return this.#lastTicket;
  }

  /** True when the state has every event that was recorded before the turn with this number was requested. */
  isCurrentFor(ticket: number): boolean {
    return this.#currentForTicket >= ticket;
  }

  /** Notes that the state has every event that was recorded before the turn with this number was requested. */
  noteCurrentFor(ticket: number): void {
    this.#currentForTicket = Math.max(this.#currentForTicket, ticket);
  }

  /** Drops the state; the next turn reads the stream. */
  forget(): void {
    this.#known = COLD;
  }

  /** Drops an assumed state that no event has confirmed. */
  dropAssumption(): void {
    if (this.isPresumedAbsent) this.forget();
  }

  /** Assumes that the stream does not exist. If it does, the first append fails. */
  presumeAbsent(): FoldedState<State> {
    const folded: FoldedState<State> = { state: this.#source.aggregate.decider.initial(), revision: -1n };
    this.#known = { kind: 'presumed absent', folded };
    return folded;
  }

  /**
   * Folds the stream from its beginning.
   *
   * @throws {StreamParked} when the stream is parked or an event cannot be decoded.
   */
  async fold(): Promise<FoldedState<State>> {
    this.forget();
    if (this.#parked !== undefined) throw this.#parked;
    const ticket = this.#lastTicket;
    const folded: FoldedState<State> = { state: this.#source.aggregate.decider.initial(), revision: -1n };
    await this.#readInto(folded);
    this.#known = { kind: 'folded', folded };
    this.noteCurrentFor(ticket);
    return folded;
  }

  /** Brings the state to the head of the stream, as of now: reads on from what is folded. */
  async catchUp(): Promise<void> {
    const ticket = this.#lastTicket;
    if (this.#known.kind === 'folded') await this.#readInto(this.#known.folded);
    else await this.fold();
    this.noteCurrentFor(ticket);
  }

  async #readInto(folded: FoldedState<State>): Promise<void> {
    const { store, stream } = this.#source;
    for await (const page of store.readStream(stream, { from: folded.revision + 1n }))
      for (const event of page) this.#foldRecorded(folded, event);
  }

  /** @throws {StreamParked} when the event cannot be decoded; nothing is folded then. */
  #foldRecorded(folded: FoldedState<State>, recorded: RecordedEvent): void {
    const { metadata, event } = this.#decode(recorded);
    folded.state = this.#source.aggregate.decider.evolve(folded.state, event);
    folded.revision = recorded.revision;
    rememberKey(folded, metadata);
    this.#position = recorded.position;
    this.#recordedAtMs = Math.max(this.#recordedAtMs, metadata.recordedAtMs);
  }

  #decode(recorded: RecordedEvent): { readonly metadata: EventMetadata; readonly event: Event } {
    const { codec } = this.#source.aggregate;
    try {
      return readingEvent(recorded, () => {
        const metadata = metadataOf(recorded);
        return { metadata, event: codec.decode(recorded.type, recorded.data, metadata.schema) };
      });
    } catch (error) {
      if (error instanceof StreamParked) this.#park(error);
      throw error;
    }
  }

  /** Lets the stream be read again after it was parked. */
  resume(): void {
    this.#parked = undefined;
  }

  #park(reason: StreamParked): void {
    this.#parked = reason;
    this.#source.onParked?.(reason);
  }

  /** Keeps an event of the stream for `foldObserved`, unless the state has it or the stream is cold and idle. */
  observe(event: RecordedEvent, isBusy: boolean): void {
    const { folded } = this;
    if (folded === undefined ? !isBusy : event.revision <= folded.revision) return;
    if (this.#observed.length === MAX_OBSERVED) this.#observed.pop(); // the gap shows that events are missing
    this.#observed.push(event);
  }

  /**
   * Folds the observed events that are not folded yet. When an event in between is missing, or one cannot be decoded,
   * the state is dropped. Not to be called while appends are in flight: their revisions are provisional, and other
   * processes may have taken them.
   */
  foldObserved(): void {
    if (this.#observed.length === 0) return;
    for (const event of this.#observed.splice(0)) {
      const { folded } = this;
      if (folded === undefined || event.revision <= folded.revision) continue;
      if (this.isPresumedAbsent || event.revision > folded.revision + 1n) this.forget();
      else this.#foldOrForget(folded, event);
    }
  }

  #foldOrForget(folded: FoldedState<State>, event: RecordedEvent): void {
    try {
      this.#foldRecorded(folded, event);
    } catch {
      this.forget(); // the next turn folds the stream and gets the error
    }
  }

  /** Looks up an earlier use of the command's idempotency key. */
  priorUseBy(turn: CommandTurn<Command, Refusal>): ReturnType<typeof previousUse> {
    const { idempotency, actor } = turn.context;
    const keys = this.folded?.keys;
    if (idempotency === undefined || keys === undefined) return 'none';
    return previousUse(keys, actor, commandTargetOf(this.#source.aggregate, turn), idempotency);
  }

  /** Encodes the events of a command, recorded now; never earlier than the events before them. */
  encode(turn: CommandTurn<Command, Refusal>, decided: Decided<Event, Refusal>): Encoded {
    const { aggregate, now, format } = this.#source;
    this.#recordedAtMs = Math.max(this.#recordedAtMs, now());
    return encodeEvents(aggregate, turn, decided, { recordedAtMs: this.#recordedAtMs, format: format?.() });
  }

  /** Folds the events of a command of this process, which the stream has or will have up to `revision`. */
  apply(folded: FoldedState<State>, events: readonly Event[], metadata: EventMetadata, revision: bigint): void {
    const { decider } = this.#source.aggregate;
    rememberKey(folded, metadata);
    for (const event of events) folded.state = decider.evolve(folded.state, event);
    folded.revision = revision;
    if (this.isPresumedAbsent) this.#known = { kind: 'folded', folded };
  }

  /** Notes the position of events that have become durable. */
  noteDurable({ position }: Appended): void {
    this.#position = position;
  }
}

const rememberKey = (folded: { keys?: KnownKeys }, metadata: EventMetadata): void => {
  if (metadata.idempotency !== undefined) noteKey((folded.keys ??= new Map()), metadata);
};
