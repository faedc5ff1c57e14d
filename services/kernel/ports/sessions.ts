import type { Aggregate } from '../aggregate.js';
import type { Idempotency, KnownKeys } from '../idempotency.js';
import type { StreamName } from '../stream.js';

/** Who asks, and with what request. */
export type CommandContext = {
  readonly actor: string;
  /** Unique for each command; the ids of its events derive from it. */
  readonly commandId: string;
  readonly correlationId?: string;
  readonly causationId?: string;
  /** Set when the caller may send the request again under the same key. */
  readonly idempotency?: Idempotency;
  /** True once the caller has gone: a command that is not queued yet is dropped, one that is goes on. */
  readonly isCancelled?: () => boolean;
};

/**
 * The answer to a command. It is given only when everything that it rests on is durable. Its position may be that of a
 * later event that was recorded with it. A refusal has
 * that of what it rests on, which may have been recorded with it; 0n where there is nothing.
 */
export type Outcome<Refusal> =
  | { readonly kind: 'accepted'; readonly revision: bigint; readonly position: bigint }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly position: bigint };

/** What a stream has come to. */
export type Folded<State> = {
  readonly state: State;
  /** -1n when the stream does not exist. */
  readonly revision: bigint;
  /** Of its last event; 0n when there is none. */
  readonly position: bigint;
  /** What the keys of callers stand for; absent when there are none. */
  readonly keys?: KnownKeys;
};

/** The live streams of this process: commands in, decisions recorded. */
export interface Sessions {
  /**
   * Decides a command against the state of its stream and records what it comes to.
   *
   * A command that was recorded under its key before is accepted, and not decided again.
   *
   * @throws {RpcError} INVALID_ARGUMENT when its key stands for another.
   * @throws {Fault} as the event store's `append`, but for conflicts, which are decided again.
   */
  handle<State, Command, Event, Refusal>(
    aggregate: Aggregate<State, Command, Event, Refusal>,
    stream: StreamName,
    command: Command,
    context: CommandContext,
  ): Promise<Outcome<Refusal>>;

  /**
   * Computes an answer from the committed state of a stream, in the stream's turn. The state is the one that commands
   * are decided on and changes with the next command: `look` must not change it, and its answer must not hold it.
   */
  read<State, Command, Event, Refusal, Answer>(
    aggregate: Aggregate<State, Command, Event, Refusal>,
    stream: StreamName,
    look: (folded: Folded<State>) => Answer,
  ): Promise<Answer>;

  /**
   * The same from what this process knows of the stream: all that it has acknowledged itself, and of other processes
   * what it has heard. The stream is read only where nothing is known of it.
   */
  readKnown<State, Command, Event, Refusal, Answer>(
    aggregate: Aggregate<State, Command, Event, Refusal>,
    stream: StreamName,
    look: (folded: Folded<State>) => Answer,
  ): Promise<Answer>;
}

/** What this process has acknowledged, for those who read what they wrote. */
export interface Acknowledged {
  /** The position of the last acknowledged event of a stream; `undefined` when it was long ago or never. */
  ofStream(stream: StreamName): bigint | undefined;
  /** The last acknowledged position over the streams whose names begin so, such as `execution-flytesnacks:development:`. */
  ofPrefix(prefix: string): bigint | undefined;
  /** A stream whose name begins so, of those that {@link ofStream} knows; `undefined` when there is none. */
  streamUnder(prefix: string): StreamName | undefined;
}
