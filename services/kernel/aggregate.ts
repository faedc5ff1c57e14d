import type { RecordedEvent } from './event.js';
import type { Content } from './ports/payload-store.js';

/**
 * The outcome of deciding a command.
 *
 * - `accepted`: the events are to be recorded; an empty list means that there was nothing to do.
 * - `refused`: the domain rejects the command. `events` are recorded even so: a repeated phase with new content is
 *   refused, and its content is kept.
 * - `unsure`: the state is not enough to decide. `at` lists stream revisions in ascending order; the aggregate's
 *   `compareWithRecorded` is called with the events at these revisions, and then the command is decided again.
 */
export type Decision<Event, Refusal> =
  | { readonly kind: 'accepted'; readonly events: readonly Event[] }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly events?: readonly Event[] }
  | { readonly kind: 'unsure'; readonly at: readonly bigint[] };

/** The pure part of an aggregate. */
export interface Decider<State, Command, Event, Refusal> {
  initial(): State;
  /** Total: makes no decision and never throws. May change the given state in place; returns the new state. */
  evolve(state: State, event: Event): State;
  /** Pure: the current time and new ids come in with the command. */
  decide(state: State, command: Command): Decision<Event, Refusal>;
}

/** An event type and the event's data as bytes. */
export type EncodedEvent = { readonly type: string; readonly data: Uint8Array };

/** Encodes and decodes the events of an aggregate. */
export interface EventCodec<Event> {
  /**
   * @param format the log format to write; by default the newest.
   * @throws {Error} for an event that a log of this format must not have.
   */
  encode(event: Event, format?: number): EncodedEvent;
  /**
   * @throws {UnknownEvent} for a type or schema that this release does not know.
   * @throws {CorruptEvent} when the bytes are not of that type.
   */
  decode(type: string, data: Uint8Array, schema: number): Event;
  /** The contents of an event that may be large. Those above the limit are moved to the payload store, in place. */
  contents(event: Event): readonly Content[];
}

/** Priority of a command under load: `start` commands are rejected first, `end` commands never. */
export type Urgency = 'start' | 'progress' | 'end';

/** One kind of stream: its category, its decider, and the codec of its events. */
export interface Aggregate<State, Command, Event, Refusal> {
  readonly category: string;
  readonly decider: Decider<State, Command, Event, Refusal>;
  readonly codec: EventCodec<Event>;
  /**
   * The scope of the payload store in which large contents of the stream's events are stored, such as
   * `definitions/flytesnacks`. Where no event has such contents, the name is not used.
   */
  payloadScope(command: Command): string;
  /**
   * True for a command that creates its stream. Where the stream is not in memory, the command is decided on the
   * initial state, without a read. The stream is read when the append finds that it exists, or before a large content
   * is stored for it.
   */
  createsStream?(command: Command): boolean;
  /**
   * True when a refusal is permanent: no later event can undo it. Other refusals are given only on a state that
   * certainly includes the head of the stream.
   */
  isPermanentRefusal(refusal: Refusal): boolean;
  /** By default `progress`. */
  urgencyOf?(command: Command): Urgency;
  /**
   * Names what a command changes within its stream, such as the version of a launch plan. By default all commands of a
   * stream change the same. An idempotency key applies to one target.
   */
  targetOf?(command: Command): string;
  /** Estimated memory of the state in bytes, within a factor of 1.5 (a test measures it). Must be cheap. */
  sizeOf(state: State): number;
  /** True when hardly any more commands are expected for a stream in this state: it is evicted from memory first. */
  isOver?(state: State): boolean;
  /**
   * Returns the command completed with what its decision needs from `past`: the events that an `unsure` decision asked
   * for.
   */
  compareWithRecorded?(command: Command, past: readonly RecordedEvent[]): Promise<Command>;
}
