import type { NewEvent } from '../kernel/event.js';
import type { Appended, ExpectedRevision } from '../kernel/ports/event-store.js';
import type { CommandContext, Folded, Outcome } from '../kernel/ports/sessions.js';

/**
 * A command in the queue of its stream. A stream serves one entry of its queue at a time: that is its turn.
 */
export type CommandTurn<Command, Refusal> = {
  readonly kind: 'command';
  readonly command: Command;
  readonly context: CommandContext;
  /** The number of its turn in the stream, from 1. */
  readonly ticket: number;
  /** The number of earlier attempts: failed appends, and decisions that presumed the stream absent. */
  readonly attempts: number;
  readonly resolve: (outcome: Outcome<Refusal>) => void;
  readonly reject: (error: unknown) => void;
};

/** A read in the queue of its stream. It waits for its turn, and then until everything before it is durable. */
export type ReadTurn<State> = {
  readonly kind: 'read';
  /** The number of its turn in the stream, from 1; 0 when the state as it is folded is new enough. */
  readonly ticket: number;
  /** Computes the answer while no command changes the state. */
  readonly select: (folded: Folded<State>) => void;
  readonly reject: (error: unknown) => void;
};

/** An entry of the queue of a stream. */
export type Turn<State, Command, Refusal> = CommandTurn<Command, Refusal> | ReadTurn<State>;

/** The decision on a command. */
export type Decided<Event, Refusal> = { readonly events: readonly Event[]; readonly refusal: Refusal | undefined };

/** The events of a command in flight, and the commands whose answers depend on them. */
export type InFlight<Command, Refusal> = {
  readonly turn: CommandTurn<Command, Refusal>;
  readonly expected: ExpectedRevision;
  /** The revision of its last event. */
  readonly revision: bigint;
  readonly encoded: readonly NewEvent[];
  readonly refusal: Refusal | undefined;
  readonly followers: { readonly turn: CommandTurn<Command, Refusal>; readonly refusal: Refusal | undefined }[];
  result: { readonly appended: Appended } | { readonly error: unknown } | undefined;
};

/** Answers a command with its decision. */
export const answerCommand = <C, R>(turn: CommandTurn<C, R>, refusal: R | undefined, at: Appended): void =>
  turn.resolve(
    refusal === undefined ? { kind: 'accepted', ...at } : { kind: 'refused', refusal, position: at.position },
  );
