/**
 * The machinery failed. Thrown by adapters alone, always with the driver's error as its cause; the domain says no with
 * a refusal, and a caller's mistake is an `RpcError`.
 */
export abstract class Fault extends Error {
  abstract readonly code: FaultCode;

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = new.target.name;
  }
}

/** Every fault there is; `docs/errors.md` has a line for each. */
export type FaultCode =
  | 'revision-conflict'
  | 'append-too-large'
  | 'store-unavailable'
  | 'outcome-unknown'
  | 'corrupt-event'
  | 'corrupt-payload'
  | 'unknown-event'
  | 'newer-log-format'
  | 'stream-parked'
  | 'checkpoint-moved'
  | 'query-too-slow'
  | 'too-many-queries'
  | 'page-too-large'
  | 'read-store-unusable'
  | 'data-directory-in-use'
  | 'data-directory-unusable';

/** The stream is not where the append expected it. */
export class RevisionConflict extends Fault {
  readonly code = 'revision-conflict';
}

/** The events of one append are larger than any adapter takes. */
export class AppendTooLarge extends Fault {
  readonly code = 'append-too-large';
}

/** The store cannot be used now, and nothing was recorded. */
export class StoreUnavailable extends Fault {
  readonly code = 'store-unavailable';
}

/** The store did not answer: what was to be recorded may be there or not. */
export class OutcomeUnknown extends Fault {
  readonly code = 'outcome-unknown';
}

/** An event's bytes are not what its type says. */
export class CorruptEvent extends Fault {
  readonly code = 'corrupt-event';
}

/** An object that an event names is missing, or is not what its name says. */
export class CorruptPayload extends Fault {
  readonly code = 'corrupt-payload';
}

/** An event of a type or schema that this release does not know: its stream is parked, nothing skips it. */
export class UnknownEvent extends Fault {
  readonly code = 'unknown-event';
}

/** The log is written in a format that this release does not know: it must not write to it. */
export class NewerLogFormat extends Fault {
  readonly code = 'newer-log-format';
}

/** A stream of which this release cannot read an event, so that nothing is decided on it or folded of it. */
export class StreamParked extends Fault {
  readonly code = 'stream-parked';

  readonly stream: string;
  /** Of the event that cannot be read. */
  readonly position: bigint;

  constructor(stream: string, position: bigint, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`stream ${stream} is parked at position ${position.toString()}: ${reason}`, cause);
    this.stream = stream;
    this.position = position;
  }
}

/** Somebody else has moved the checkpoint; nothing was written. */
export class CheckpointMoved extends Fault {
  readonly code = 'checkpoint-moved';
}

/** A query found no full page in the time that it has. */
export class QueryTooSlow extends Fault {
  readonly code = 'query-too-slow';
}

/** So many queries that take long are waiting that this one was not begun. */
export class TooManyQueries extends Fault {
  readonly code = 'too-many-queries';
}

/** A page is larger than an answer may be. */
export class PageTooLarge extends Fault {
  readonly code = 'page-too-large';
}

/** The read store is not one that can be used, and waiting does not help: its credentials, its kind, or what is in it. */
export class ReadStoreUnusable extends Fault {
  readonly code = 'read-store-unusable';
}

/** Another process writes to the data directory. */
export class DataDirectoryInUse extends Fault {
  readonly code = 'data-directory-in-use';
}

/** The data directory cannot be used: read-only, full, damaged, or of another release. */
export class DataDirectoryUnusable extends Fault {
  readonly code = 'data-directory-unusable';
}
