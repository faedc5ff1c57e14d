import type { Aggregate } from '../aggregate.js';
import type { Idempotency, KnownKeys } from '../idempotency.js';
import type { StreamName } from '../stream.js';

/** The caller and the request behind a command. */
export type CommandContext = {
  readonly actor: string;
  /** Unique for each command; the ids of its events derive from it. */
  readonly commandId: string;
  readonly correlationId?: string;
  readonly causationId?: string;
  /** W3C trace context of the request. */
  readonly traceParent?: string | undefined;
  /** Set when the caller may send the request again under the same key. */
  readonly idempotency?: Idempotency;
  /**
   * True once the caller has disconnected, or its deadline has passed. A command that is still to be decided is then
   * rejected as CANCELLED; one that has been decided is recorded.
   */
  readonly isCancelled?: () => boolean;
};

/**
 * Result of a command, given only when everything that it depends on is durable. `position` may be that of a later
 * event that was recorded together with it. A refusal has the position of the events that it depends on, which may have
 * been recorded in the same append; 0n when there are none.
 */
export type Outcome<Refusal> =
  | { readonly kind: 'accepted'; readonly revision: bigint; readonly position: bigint }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly position: bigint };

/** State of a stream, folded from its events. */
export type Folded<State> = {
  readonly state: State;
  /** -1n when the stream does not exist. */
  readonly revision: bigint;
  /** Position of its last event; 0n when there is none. */
  readonly position: bigint;
  /** The idempotency keys that were used; absent when there are none. */
  readonly keys?: KnownKeys;
};

/** The streams that this process has in memory: decides commands and records the decisions. */
export interface Sessions {
  /**
   * Decides a command on the state of its stream and records the resulting events.
   *
   * A command that was already recorded under its idempotency key is accepted without being decided again.
   *
   * @throws {RpcError} INVALID_ARGUMENT when its idempotency key was used with a different request; RESOURCE_EXHAUSTED
   * when too many commands are in flight; CANCELLED when its caller has disconnected or the deadline has passed.
   * @throws {Fault} as the event store's `append`; after a conflict, the command is decided again up to 20 times; on a
   * shared log it is decided up to 100 times in all. Also `StreamParked` when its stream is parked, and
   * `NewerLogFormat` when a newer release writes the log.
   */
  handle<State, Command, Event, Refusal>(
    aggregate: Aggregate<State, Command, Event, Refusal>,
    stream: StreamName,
    command: Command,
    context: CommandContext,
  ): Promise<Outcome<Refusal>>;

  /**
   * Computes an answer from the committed state of a stream, in the stream's queue. Commands change this state in
   * place: `select` must not change it, and its answer must not refer to it.
   *
   * @throws {Fault} when the stream cannot be read; `StreamParked` when it is parked.
   */
  read<State, Command, Event, Refusal, Answer>(
    aggregate: Aggregate<State, Command, Event, Refusal>,
    stream: StreamName,
    select: (folded: Folded<State>) => Answer,
  ): Promise<Answer>;

  /**
   * Like `read`, but from the state that this process knows: all that it has acknowledged itself, and the events of
   * other processes that it has received. The store is read only when nothing is known of the stream.
   */
  readKnown<State, Command, Event, Refusal, Answer>(
    aggregate: Aggregate<State, Command, Event, Refusal>,
    stream: StreamName,
    select: (folded: Folded<State>) => Answer,
  ): Promise<Answer>;
}

/** Positions that this process has acknowledged, for read-your-writes. */
export interface Acknowledged {
  /** Position of the last acknowledged event of a stream; `undefined` when it is long ago or there is none. */
  ofStream(stream: StreamName): bigint | undefined;
  /**
   * The last acknowledged position over all streams whose names begin with `prefix`, which is the start of a name up to
   * its second colon, such as `execution-flytesnacks:development:`; without a second colon, up to the dash.
   */
  ofPrefix(prefix: string): bigint | undefined;
  /** A stream that {@link ofStream} knows and whose name begins with `prefix`; `undefined` when there is none. */
  streamUnder(prefix: string): StreamName | undefined;
}
