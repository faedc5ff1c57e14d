import type { RecordedEvent } from './event.js';
import type { Content } from './ports/payload-store.js';

/**
 * What a command comes to.
 *
 * - `accepted`: the events are to be recorded; none means that there was nothing to do.
 * - `refused`: the domain says no. `events` are recorded all the same: a repeated phase with new content is refused,
 *   and its content kept.
 * - `unsure`: the state does not say; the aggregate's `recall` is given the events at some revisions of the stream,
 *   ascending, and the command is decided again.
 */
export type Decision<Event, Refusal> =
  | { readonly kind: 'accepted'; readonly events: readonly Event[] }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly events?: readonly Event[] }
  | { readonly kind: 'unsure'; readonly at: readonly bigint[] };

/** The pure part of an aggregate. */
export interface Decider<State, Command, Event, Refusal> {
  initial(): State;
  /** Total: decides nothing, throws nothing. May change the state that it is given, and answers it. */
  evolve(state: State, event: Event): State;
  /** Pure: time and new ids come in with the command. */
  decide(state: State, command: Command): Decision<Event, Refusal>;
}

/** An event as bytes. */
export type EncodedEvent = { readonly type: string; readonly data: Uint8Array };

/** Between the events of an aggregate and their bytes. */
export interface EventCodec<Event> {
  /** @param format the format of the log; by default the newest. */
  encode(event: Event, format?: number): EncodedEvent;
  /**
   * @throws {UnknownEvent} for a type or schema that this release does not know.
   * @throws {CorruptEvent} when the bytes are not of that type.
   */
  decode(type: string, data: Uint8Array, schema: number): Event;
  /** The parts of an event that may be large. What is above the limit is moved to the payload store in place. */
  contents(event: Event): readonly Content[];
}

/** What a command is to those who wait: one that begins something is turned away first, one that ends it never. */
export type Urgency = 'start' | 'progress' | 'end';

/** One kind of stream: its category, how it decides, how its events are stored. */
export interface Aggregate<State, Command, Event, Refusal> {
  readonly category: string;
  readonly decider: Decider<State, Command, Event, Refusal>;
  readonly codec: EventCodec<Event>;
  /** Where large parts of the stream's events are put. */
  payloadScope(command: Command): string;
  /**
   * Whether a command begins its stream, and so is decided on nothing first: the append finds out whether the stream
   * is there, and only then it is read.
   */
  begins?(command: Command): boolean;
  /**
   * Whether nothing that is recorded later can undo a refusal. One that may pass is given only by who knows the head of
   * the stream.
   */
  isForGood(refusal: Refusal): boolean;
  /** By default `progress`. */
  urgencyOf?(command: Command): Urgency;
  /** What a command is about, where a stream is about several things; by default all commands are about the same. */
  targetOf?(command: Command): string;
  /** What the state takes in memory, in bytes, within a factor of 1.5: a test measures it. Costs little. */
  sizeOf(state: State): number;
  /** Whether hardly any command will come for a stream in this state: it is the first to be dropped from memory. */
  isOver?(state: State): boolean;
  /** Answers the command with what an unsure decision needs of the events that it has named. */
  recall?(command: Command, past: readonly RecordedEvent[]): Promise<Command>;
}
