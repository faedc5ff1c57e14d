import type { Appended, EventStore } from '../../kernel/ports/event-store.js';
import type { StreamName } from '../../kernel/stream.js';
import type { InFlightAppends } from '../in-flight.js';
import type { FoldedState, StreamState } from '../stream-state.js';
import type { CommandTurn, Decided, InFlight } from '../turn.js';

/** Appends the events of decided commands to one stream. */
export interface Writer<State, Command, Event, Refusal> {
  /**
   * True when the state may lack events that other processes recorded before the turn with this number was requested.
   */
  mayLackEvents(ticket: number): boolean;
  /**
   * Appends the events of a command that was decided on the current state. Answers or rejects it, or has it decided
   * again; where it returns a promise, it rejects that promise in place of the command.
   *
   * @param othersWait true when other turns of the stream wait behind this one.
   * @returns a promise only when the stream has to wait for the append.
   */
  append(
    turn: CommandTurn<Command, Refusal>,
    decided: Decided<Event, Refusal>,
    folded: FoldedState<State>,
    othersWait: boolean,
  ): Promise<void> | undefined;
}

/** The state of a session that its writer works on, and the calls that it makes to the session. */
export type WriterParts<State, Command, Event, Refusal> = {
  readonly stream: StreamName;
  readonly store: Pick<EventStore, 'append'>;
  readonly state: StreamState<State, Command, Event, Refusal>;
  readonly inFlight: InFlightAppends<Command, Refusal>;
  /** Called once for each command whose events have become durable, before it is answered. */
  readonly onDurable: (appended: Appended) => void;
  /** Has a command decided again as the next turn. */
  readonly decideAgain: (turn: CommandTurn<Command, Refusal>) => void;
  /** Drops the state after a failed append, and has these commands decided again before all others, in order. */
  readonly startAgain: (turns: readonly CommandTurn<Command, Refusal>[]) => void;
};

/**
 * Folds the events of a command before they are durable, and adds them to the appends in flight: the next command is
 * decided as if they were recorded.
 */
export const foldInFlight = <S, C, E, R>(
  { state, inFlight }: WriterParts<S, C, E, R>,
  turn: CommandTurn<C, R>,
  decided: Decided<E, R>,
  folded: FoldedState<S>,
): InFlight<C, R> => {
  const expected = folded.revision < 0n ? 'no-stream' : folded.revision;
  const revision = folded.revision + BigInt(decided.events.length);
  const { encoded, metadata } = state.encode(turn, decided);
  state.apply(folded, decided.events, metadata, revision);
  const entry: InFlight<C, R> = {
    turn,
    refusal: decided.refusal,
    followers: [],
    result: undefined,
    expected,
    revision,
    encoded,
  };
  inFlight.add(entry);
  return entry;
};
