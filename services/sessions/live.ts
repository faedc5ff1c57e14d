import type { Aggregate } from '../kernel/aggregate.js';
import type { NewEvent, RecordedEvent } from '../kernel/event.js';
import type { Appended, EventStore, ExpectedRevision } from '../kernel/ports/event-store.js';
import type { StreamParked } from '../kernel/fault.js';
import type { KnownKeys } from '../kernel/idempotency.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import type { CommandContext, Folded, Outcome } from '../kernel/ports/sessions.js';
import type { StreamName } from '../kernel/stream.js';

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

/** A command that waits for its turn on the stream. */
export type CommandTurn<Command, Refusal> = {
  readonly kind: 'command';
  readonly command: Command;
  readonly context: CommandContext;
  /** The number of its turn in the stream, from 1. */
  readonly ticket: number;
  /** The number of earlier attempts, which failed because the state was not the stream's. */
  readonly attempts: number;
  readonly resolve: (outcome: Outcome<Refusal>) => void;
  readonly reject: (error: unknown) => void;
};

/** A read of the stream. It waits for its turn, and then until everything before it is durable. */
export type ReadTurn<State> = {
  readonly kind: 'read';
  readonly ticket: number;
  /** Computes the answer while no command changes the state. */
  readonly look: (folded: Folded<State>) => void;
  readonly reject: (error: unknown) => void;
};

/** A command or a read that waits for its turn. */
export type Turn<State, Command, Refusal> = CommandTurn<Command, Refusal> | ReadTurn<State>;

/** The decision on a command. */
export type Decided<Event, Refusal> = { readonly events: readonly Event[]; readonly refusal: Refusal | undefined };

/** Called when an append has failed and none is in flight any more, with the turns to decide again, in order. */
export type OnFailure<State, Command, Refusal> = (again: Turn<State, Command, Refusal>[]) => void;

/** The events of a command in flight, and the commands whose answers depend on them. */
export type InFlight<Command, Refusal> = {
  readonly by: CommandTurn<Command, Refusal>;
  readonly expected: ExpectedRevision;
  /** The revision of its last event. */
  readonly revision: bigint;
  readonly encoded: readonly NewEvent[];
  readonly refusal: Refusal | undefined;
  readonly followers: { readonly turn: CommandTurn<Command, Refusal>; readonly refusal: Refusal | undefined }[];
  result: { readonly appended: Appended } | { readonly error: unknown } | undefined;
};

/** The state of a stream and the revision up to which it is folded. */
export type FoldedState<State> = { state: State; revision: bigint; keys?: KnownKeys };

/** One live stream. */
export type Live<State, Command, Event, Refusal> = {
  readonly aggregate: Aggregate<State, Command, Event, Refusal>;
  readonly stream: StreamName;
  readonly services: SessionServices;
  /** Called once for each command whose events have become durable. */
  readonly onDurable: (appended: Appended) => void;
  /**
   * The state with all events in flight, and the revision that the stream will have; absent while the stream is cold.
   */
  folded: FoldedState<State> | undefined;
  /** True when the stream is assumed not to exist and has not been read. */
  isPresumedAbsent: boolean;
  /**
   * The reason why this release cannot fold the stream; while it is set, the stream is not read from the start again.
   */
  parked: StreamParked | undefined;
  /** The position of the last durable event; 0n before the first. */
  position: bigint;
  recordedAtMs: number;
  /** The number of the last turn that was requested. */
  lastTicket: number;
  /** The number of a turn: the state has every event that was recorded before that turn was requested. */
  currentForTicket: number;
  /** Events that were observed during a turn, recorded by any process; folded between two turns. */
  observed: RecordedEvent[];
  /** True while the loop that takes turns runs. */
  isBusy: boolean;
  /** True while an append is running; only where the log is shared. */
  isSending: boolean;
  /**
   * The number of commands that are still to be appended one by one because another process writes the stream; only
   * where the log is shared.
   */
  unbatchedFor: number;
  /** True after a failed append: nothing is decided until no append is in flight. */
  hasFailed: boolean;
  queue: Turn<State, Command, Refusal>[];
  inFlight: InFlight<Command, Refusal>[];
  onSettled: (() => void) | undefined;
};
