import type { NewEvent, RecordedEvent } from '../event.js';
import type { StreamName } from '../stream.js';

/** Where the caller believes the stream to be: its last revision, or that it has no event, or no belief at all. */
export type ExpectedRevision = bigint | 'no-stream' | 'any';

/** The place of the last event of an append. */
export type Appended = { readonly revision: bigint; readonly position: bigint };

/** What a reader of the whole log wants; an absent list means all. Both lists given, both must match. */
export type EventFilter = {
  readonly categories?: readonly string[];
  readonly types?: readonly string[];
};

/** A page of the log, in order. It may be empty: then the log was read up to `position` and nothing matched. */
export type LogPage = {
  readonly events: readonly RecordedEvent[];
  /** Everything up to here has been seen, matching or not. */
  readonly position: bigint;
  /** Whether a page that follows is at hand already; absent where only a look at the head says so. */
  readonly hasNext?: boolean;
};

/** Which part of a stream to read. */
export type ReadStreamOptions = {
  /** The first revision to read; by default the stream's first, or its last when backwards. */
  readonly from?: bigint;
  readonly direction?: 'forwards' | 'backwards';
  /** At most so many events; by default all. */
  readonly limit?: number;
};

/** Which part of the log to read. */
export type ReadLogOptions = {
  /** Read what follows this position, whether or not an event has it; 0n is the beginning. */
  readonly after: bigint;
  /** Read the event at that position too, where one has it. */
  readonly isInclusive?: boolean;
  readonly filter?: EventFilter;
  readonly limit?: number;
};

/** Which part of the log to read from its end. */
export type ReadLogBackwardsOptions = {
  /** Read what comes before this position; by default all. */
  readonly before?: bigint;
  readonly limit?: number;
};

/** A running subscription. */
export interface Subscription {
  /** Resolves when the subscription has ended by `close`; rejects when the handler or the store failed. */
  readonly ended: Promise<void>;
  /** Ends it after the page in hand. */
  close(): Promise<void>;
}

/** The log as its readers see it. */
export interface EventLog {
  /** The identity of this log: new after every restore or copy, so that positions of two logs are never mixed. */
  readonly logId: string;

  /** The events of one stream in pages, in the direction asked for; none for a stream that does not exist. */
  readStream(stream: StreamName, options?: ReadStreamOptions): AsyncIterable<readonly RecordedEvent[]>;

  /** The log in pages, up to its head at the moment of the call. */
  readLog(options: ReadLogOptions): AsyncIterable<LogPage>;

  /** The log in pages from its end, or from a position, to its beginning; the last event first. */
  readLogBackwards(options?: ReadLogBackwardsOptions): AsyncIterable<readonly RecordedEvent[]>;

  /**
   * The log from a position on, without end. Pages come one after another: the next is read when the handler is done.
   *
   * @param onPage called with `isLive` once everything that was there at the start has been handed over.
   */
  subscribe(
    options: Omit<ReadLogOptions, 'limit'>,
    onPage: (page: LogPage, isLive: boolean) => Promise<void> | void,
  ): Subscription;

  /**
   * The position of the last event, whoever has written it; 0n in an empty log. All that was read before the call is at
   * or below it, but where a log was cut back or the one that answers has not all of it.
   */
  head(): Promise<bigint>;

  close(): Promise<void>;
}

/** The log: streams of events, appended to with an expected revision, and read alone or all together. */
export interface EventStore extends EventLog {
  /**
   * Appends all the events or none, and answers when they are durable.
   *
   * Idempotent: when the same ids stand at the revisions that follow `expected`, it is a success with their places.
   * With `any`, ids among the last 4,096 of the stream are known.
   *
   * @throws {RevisionConflict} when the stream is not at `expected`.
   * @throws {AppendTooLarge} when the events are above 1,000,000 bytes together.
   * @throws {StoreUnavailable} when it is certain that nothing was appended.
   * @throws {OutcomeUnknown} when it is not known whether the events were appended.
   */
  append(stream: StreamName, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended>;
}

/** The largest append that every adapter takes, in bytes of ids, types, data and metadata together. */
export const MAX_APPEND_BYTES = 1_000_000;
