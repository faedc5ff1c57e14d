import { errorText } from './error-text.js';

/**
 * A technical failure, thrown by adapters and by code that reads events and payloads. The cause is the driver's error,
 * when there is one. The domain rejects a command with a refusal, and a caller's mistake is an `RpcError`.
 */
export abstract class Fault extends Error {
  abstract readonly code: FaultCode;

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = new.target.name;
  }

  /**
   * The constructor arguments, without the cause, that rebuild this fault on another thread. A class with more fields
   * overrides this method.
   */
  parts(): readonly unknown[] {
    return [this.message];
  }
}

/** All fault codes; `docs/errors.md` has a line for each. */
export type FaultCode =
  | 'revision-conflict'
  | 'append-too-large'
  | 'store-unavailable'
  | 'outcome-unknown'
  | 'write-refused'
  | 'corrupt-event'
  | 'corrupt-payload'
  | 'engine-data-unusable'
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

/** The stream is not at the revision that the append expected. */
export class RevisionConflict extends Fault {
  readonly code = 'revision-conflict';
}

/** The events of one append exceed the size that every adapter accepts, or a lower limit of the event store. */
export class AppendTooLarge extends Fault {
  readonly code = 'append-too-large';
}

/** The store is not available, and nothing was recorded. */
export class StoreUnavailable extends Fault {
  readonly code = 'store-unavailable';
}

/** The store did not answer, or failed during a commit: what was written may have been recorded or not. */
export class OutcomeUnknown extends Fault {
  readonly code = 'outcome-unknown';
}

/** The store refuses a write, and would refuse it again. Nothing was recorded. */
export class WriteRefused extends Fault {
  readonly code = 'write-refused';
}

/** The data or the metadata of an event cannot be decoded, or its stream was deleted in the event store. */
export class CorruptEvent extends Fault {
  readonly code = 'corrupt-event';
}

/** A payload object that an event refers to, or an object of a backup, is missing or does not match its name. */
export class CorruptPayload extends Fault {
  readonly code = 'corrupt-payload';
}

/** An object in which an engine has stored inputs or outputs is missing, too large, or has other content. */
export class EngineDataUnusable extends Fault {
  readonly code = 'engine-data-unusable';
}

/** This release does not know the category, type or schema of an event. */
export class UnknownEvent extends Fault {
  readonly code = 'unknown-event';
}

/** The log has a format that this release does not know, so this release must not write to it. */
export class NewerLogFormat extends Fault {
  readonly code = 'newer-log-format';
}

/**
 * This release cannot read or fold an event of the stream, so no command is decided on the stream, and nothing is
 * projected from that event on.
 */
export class StreamParked extends Fault {
  readonly code = 'stream-parked';

  readonly stream: string;
  /** Position of the event that cannot be read or folded. */
  readonly position: bigint;
  /** The cause in the words that callers get. */
  readonly reason: string;

  /** @param reason by default the message of the cause. */
  constructor(stream: string, position: bigint, cause: unknown, reason = errorText(cause)) {
    super(`stream ${stream} is parked at position ${position.toString()}: ${reason}`, cause);
    this.stream = stream;
    this.position = position;
    this.reason = reason;
  }

  override parts(): readonly unknown[] {
    return [this.stream, this.position, this.reason];
  }
}

/** Another process has moved the checkpoint, or parked or resumed a stream of the views; nothing was written. */
export class CheckpointMoved extends Fault {
  readonly code = 'checkpoint-moved';
}

/** A query did not end within its time limit, or the read store cannot search by its filters. */
export class QueryTooSlow extends Fault {
  readonly code = 'query-too-slow';
}

/** Slow queries before this one take too long, or too many are waiting already, so it was not started. */
export class TooManyQueries extends Fault {
  readonly code = 'too-many-queries';
}

/** A page exceeds the size limit of an answer. */
export class PageTooLarge extends Fault {
  readonly code = 'page-too-large';
}

/** The read store cannot be used, and waiting does not help: its credentials, its kind or its contents are wrong. */
export class ReadStoreUnusable extends Fault {
  readonly code = 'read-store-unusable';
}

/** Another process writes to the data directory, or to the folder or bucket of a backup or an export. */
export class DataDirectoryInUse extends Fault {
  readonly code = 'data-directory-in-use';
}

/**
 * The data directory, or a folder or bucket of files, cannot be used: it is read-only, full, damaged, of another log,
 * or written by a newer release.
 */
export class DataDirectoryUnusable extends Fault {
  readonly code = 'data-directory-unusable';
}
