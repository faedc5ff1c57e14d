import type { NewEvent, RecordedEvent } from '../event.js';
import type { StreamName } from '../stream.js';

/**
 * The revision that the caller expects the stream to be at: the one of its last event, `no-stream` for a stream without
 * events, or `any` to skip the check.
 */
export type ExpectedRevision = bigint | 'no-stream' | 'any';

/** Revision and position of the last event of an append. */
export type Appended = { readonly revision: bigint; readonly position: bigint };

/**
 * Selects events of the log. An absent list matches all; when both lists are given, both must match. A stream whose
 * name has no dash, as other programs may write, is in a category of its name in some stores, and in none in others.
 */
export type EventFilter = {
  readonly categories?: readonly string[];
  readonly types?: readonly string[];
};

/**
 * A page of the log in ascending order. An empty page means that the log was read up to `position` and nothing matched.
 */
export type LogPage = {
  readonly events: readonly RecordedEvent[];
  /** The log has been read up to this position, whether events matched or not. */
  readonly position: bigint;
  /** True when the next page is available already. When absent, the caller has to compare `position` with the head. */
  readonly hasNext?: boolean;
};

/** Range of a stream to read. */
export type ReadStreamOptions = {
  /** The first revision to read; by default the stream's first, or its last when backwards. */
  readonly from?: bigint;
  readonly direction?: 'forwards' | 'backwards';
  /** Maximum number of events; by default all. */
  readonly limit?: number;
};

/** Range of the log to read. */
export type ReadLogOptions = {
  /** Read the events after this position, which need not be the position of an event; 0n is the beginning. */
  readonly after: bigint;
  /** Also read the event at that position, if there is one. */
  readonly isInclusive?: boolean;
  readonly filter?: EventFilter;
  readonly limit?: number;
};

/** Range of the log to read backwards. */
export type ReadLogBackwardsOptions = {
  /** Read the events before this position; by default all. */
  readonly before?: bigint;
  readonly limit?: number;
};

/** A running subscription. */
export interface Subscription {
  /** Resolves after `close`; rejects when the handler has failed, or the log cannot be followed any further. */
  readonly ended: Promise<void>;
  /** Ends the subscription after the page that is being handled. */
  close(): Promise<void>;
}

/**
 * Read access to the log.
 *
 * @throws {StoreUnavailable} from every read and `head`, when the log cannot be read now, or the node that answers lags
 *   behind.
 * @throws {CorruptEvent} from a read of a stream that was deleted in the event store.
 */
export interface EventLog {
  /**
   * The identity of this log. A restored or copied log must get a new one, so that positions of two logs are not mixed.
   */
  readonly logId: string;

  /**
   * The id of the log that this one is a copy of, until it takes over. Until then, nothing leaves a control plane on
   * the copy that the original sends too: no schedule fires, and no notification is sent.
   */
  readonly copyOf?: string | undefined;

  /**
   * Set where the log is read from its own file. Its head is then never that of a node that lags behind, so a position
   * above the head belongs to a log that was lost.
   */
  readonly isLocal?: true;

  /**
   * Reads the events of one stream in pages, in the given direction. Yields no page for a stream that does not exist.
   */
  readStream(stream: StreamName, options?: ReadStreamOptions): AsyncIterable<readonly RecordedEvent[]>;

  /** Reads the log in pages, up to the head at the time of the call. */
  readLog(options: ReadLogOptions): AsyncIterable<LogPage>;

  /** Reads the log backwards in pages, from its end or from a position to its beginning. */
  readLogBackwards(options?: ReadLogBackwardsOptions): AsyncIterable<readonly RecordedEvent[]>;

  /**
   * Reads the log from a position on, without end. Pages come one at a time: the next one is read when the handler is
   * done.
   *
   * @param onPage called with `isLive` true from the page on that brings the last event that existed at the start, or
   *   from an empty page after it.
   */
  subscribe(
    options: Omit<ReadLogOptions, 'limit'>,
    onPage: (page: LogPage, isLive: boolean) => Promise<void> | void,
  ): Subscription;

  /**
   * The position of the last event of any writer; 0n in an empty log. It is at or above every position that was read
   * before the call, unless the log was truncated or the answering node lags behind.
   */
  head(): Promise<bigint>;

  close(): Promise<void>;
}

/** The log: streams of events, appended to with an expected revision, and read one by one or all together. */
export interface EventStore extends EventLog {
  /**
   * Appends all the events or none, and resolves when they are durable.
   *
   * Idempotent: when events with the same ids are already at the revisions after `expected`, the append succeeds and
   * returns their revision and position. With `any`, only ids among the last 4,096 events of the stream are recognized.
   *
   * @returns the revision and position of the last event appended.
   * @throws {RevisionConflict} when the stream is not at `expected`.
   * @throws {AppendTooLarge} when the events exceed 1,000,000 bytes in total, or a lower limit of the event store.
   * @throws {CorruptEvent} when the stream was deleted in the event store.
   * @throws {StoreUnavailable} when it is certain that nothing was appended.
   * @throws {OutcomeUnknown} when it is not known whether the events were appended.
   */
  append(stream: StreamName, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended>;
}

/** The largest append that every adapter accepts: bytes of ids, types, data and metadata in total. */
export const MAX_APPEND_BYTES = 1_000_000;
