import type { ExecutionId } from '../kernel/execution-id.js';

/** An engine with an open session, as far as this process knows; it may be connected elsewhere, or disconnected. */
export type KnownEngine = {
  /** Engines of one group take each other's work. */
  readonly group: string;
  /** The name of the engine in its group. */
  readonly engine: string;
  /**
   * The id of its session, which begins when it joins, and ends when it leaves, has been silent for too long, or
   * another engine of its name joins.
   */
  readonly session: string;
  /** True when it is connected to this process. */
  readonly isConnected: boolean;
  /** Its last sign of life, in milliseconds since 1970. */
  readonly seenAtMs: number;
  /** The number of further executions that it takes; 0 when it is not connected to this process. */
  readonly free: number;
  /** The executions that it has leased. */
  readonly leased: readonly ExecutionId[];
};

/** Engines and the work that waits for them. */
export interface Engines {
  /** @throws {Fault} when the log cannot be read. */
  known(): Promise<{ readonly engines: readonly KnownEngine[]; readonly waiting: number }>;
}

/** A stream with an event that this release cannot read, or that a view cannot take. */
export type Unreadable = { readonly stream: string; readonly position: bigint; readonly reason: string };

/** A request to read a parked stream again: its caller, and its time in milliseconds since 1970. */
export type RetryRequest = { readonly actor: string; readonly recordedAtMs: number };

/** Parked streams, by the reader that found them. Each list has a stream at most once. */
export interface UnreadableStreams {
  /** @throws {Fault} when the store of the views cannot be read. */
  inViews(): Promise<readonly Unreadable[]>;
  inProcess(): readonly Unreadable[];
  /**
   * The last request for each stream to be read again.
   *
   * @throws {Fault} when the log cannot be read.
   */
  retries(): Promise<ReadonlyMap<string, RetryRequest>>;
}

/**
 * A consumer group (persistent subscription). Its positions are revisions of the source, or positions of the log when
 * it reads `$all`.
 */
export type ConsumerGroup = {
  readonly source: string;
  readonly group: string;
  /** Every event up to here is done, or is before the start of the group; `undefined` when there is none. */
  readonly checkpoint: bigint | undefined;
  /** The last event of the source; `undefined` when it has none, or EventStoreDB has deleted it. */
  readonly last: bigint | undefined;
  /** The number of events that were read and neither acknowledged, skipped nor parked. */
  readonly pending: number;
  /** The number of events that are parked and can be replayed. */
  readonly parked: number;
  /** The clients that are connected to this process; only for the 100 oldest groups. */
  readonly connections: readonly ConnectedClient[];
};

/** A client that is connected to this process for a consumer group. */
export type ConnectedClient = {
  /** `host:port`. */
  readonly address: string;
  /** The name that the client gave its connection; may be empty. */
  readonly name: string;
  /** The number of its events that are not answered, or whose answers are not recorded. */
  readonly inFlight: number;
  /** The maximum of `inFlight`. */
  readonly bufferSize: number;
};

/** The consumer groups of the log, in the order of their creation. */
export interface ConsumerGroups {
  /** @throws {Fault} when the log cannot be read. */
  all(): Promise<readonly ConsumerGroup[]>;
}
