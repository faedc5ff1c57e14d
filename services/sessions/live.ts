import type { Aggregate } from '../kernel/aggregate.js';
import type { NewEvent, RecordedEvent } from '../kernel/event.js';
import type { Appended, EventStore, ExpectedRevision } from '../kernel/ports/event-store.js';
import type { StreamParked } from '../kernel/fault.js';
import type { KnownKeys } from '../kernel/idempotency.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import type { CommandContext, Folded, Outcome } from '../kernel/ports/sessions.js';
import type { StreamName } from '../kernel/stream.js';

/** What sessions need of the process. */
export type SessionServices = {
  readonly store: EventStore;
  readonly payloads: PayloadStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The format that events are written in; by default the newest. */
  readonly format?: () => number;
  /** Other processes append to the log too. */
  readonly isShared?: boolean;
  /** Hears of every stream that cannot be folded. */
  readonly onParked?: (parked: StreamParked) => void;
};

/** A command that waits for its turn on the stream. */
export type CommandTurn<Command, Refusal> = {
  readonly kind: 'command';
  readonly command: Command;
  readonly context: CommandContext;
  /** The how manyth turn of its stream it is. */
  readonly ticket: number;
  /** How often it was decided on a state that did not hold. */
  readonly attempts: number;
  readonly resolve: (outcome: Outcome<Refusal>) => void;
  readonly reject: (error: unknown) => void;
};

/** A look at the stream that waits for its turn, and then for everything before it to be durable. */
export type ReadTurn<State> = {
  readonly kind: 'read';
  readonly ticket: number;
  /** Computes the answer while no command changes the state. */
  readonly look: (folded: Folded<State>) => void;
  readonly reject: (error: unknown) => void;
};

/** Something that waits for its turn. */
export type Turn<State, Command, Refusal> = CommandTurn<Command, Refusal> | ReadTurn<State>;

/** What a command has come to. */
export type Decided<Event, Refusal> = { readonly events: readonly Event[]; readonly refusal: Refusal | undefined };

/** Told when an append has failed and everything on its way has an answer: what has to be decided again, in order. */
export type OnFailure<State, Command, Refusal> = (again: Turn<State, Command, Refusal>[]) => void;

/** A command's events on their way, and those whose answers rest on them. */
export type InFlight<Command, Refusal> = {
  readonly by: CommandTurn<Command, Refusal>;
  readonly expected: ExpectedRevision;
  /** Of its last event. */
  readonly revision: bigint;
  readonly encoded: readonly NewEvent[];
  readonly refusal: Refusal | undefined;
  readonly followers: { readonly turn: CommandTurn<Command, Refusal>; readonly refusal: Refusal | undefined }[];
  result: { readonly appended: Appended } | { readonly error: unknown } | undefined;
};

/** The state of a stream, and how far it goes. */
export type FoldedHere<State> = { state: State; revision: bigint; keys?: KnownKeys };

/** One live stream. */
export type Live<State, Command, Event, Refusal> = {
  readonly aggregate: Aggregate<State, Command, Event, Refusal>;
  readonly stream: StreamName;
  readonly services: SessionServices;
  /** Called once for each append that has become durable. */
  readonly onDurable: (appended: Appended) => void;
  /** The state with all that is queued, and the revision it will have; absent while the stream is cold. */
  folded: FoldedHere<State> | undefined;
  /** The stream was taken for one that does not exist, without a look at it. */
  isPresumed: boolean;
  /** Why the stream cannot be folded by this release; it is not read again for that. */
  parked: StreamParked | undefined;
  /** Of the last durable event; 0n before the first. */
  position: bigint;
  recordedAtMs: number;
  /** How many turns were asked for. */
  tickets: number;
  /** The state has everything that was recorded when so many turns had been asked for. */
  isCurrentFor: number;
  /** What was recorded meanwhile, by whomever; folded between two turns. */
  news: RecordedEvent[];
  /** Somebody is taking turns. */
  isBusy: boolean;
  /** An append of what is on its way has been sent; only where the log is shared. */
  isSending: boolean;
  /** So many commands are recorded one by one, because another process writes the stream; only where it is shared. */
  aloneFor: number;
  /** An append has failed: nothing is decided until all that is on its way has an answer. */
  hasFailed: boolean;
  queue: Turn<State, Command, Refusal>[];
  inFlight: InFlight<Command, Refusal>[];
  onSettled: (() => void) | undefined;
};
