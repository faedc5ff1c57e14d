import {
  AppendTooLarge,
  CorruptEvent,
  DataDirectoryUnusable,
  Fault,
  OutcomeUnknown,
  RevisionConflict,
  StoreUnavailable,
} from '../../kernel/fault.js';
import { type GrpcStatus, grpcStatusNumber } from '../../kernel/grpc-status.js';
import type { FailedStatus } from '../../kernel/ports/encoded-calls.js';
import { MAX_APPEND_BYTES } from '../../kernel/ports/event-store.js';
import { RpcError } from '../../kernel/rpc.js';
import { type Expected, PropertyMissing, REQUIRED_PROPERTIES, type WriteTarget } from './append/append-request.js';
import { ForwardedFailure, GroupFailure } from './groups/group-failure.js';

/** The status of a failed call, and the trailers that official clients read. */
export type CallFailure = {
  readonly code: GrpcStatus;
  readonly details: string;
  readonly trailers: Readonly<Record<string, string>>;
};

/** The stream was deleted permanently. */
export class StreamTombstoned extends Error {
  readonly stream: string;

  constructor(stream: string) {
    super(`stream ${stream} is deleted`);
    this.name = 'StreamTombstoned';
    this.stream = stream;
  }
}

/**
 * The error of a call to the store about one stream. A store decodes no events: {@link CorruptEvent} says that the
 * stream was deleted in the EventStoreDB that has the log.
 */
export const errorOfStore = (stream: string, error: unknown): unknown =>
  error instanceof CorruptEvent ? new StreamTombstoned(stream) : error;

/** A stream is not at the revision that the caller expected. */
export class WrongVersion extends Error {
  readonly stream: string;
  readonly expected: Expected;
  /** The last revision as clients see it; `undefined` when no event of the stream is visible. */
  readonly current: bigint | undefined;

  constructor({ stream, expected }: WriteTarget, current: bigint | undefined) {
    super(`stream ${stream} is at ${current ?? 'no revision'}`);
    this.name = 'WrongVersion';
    this.stream = stream;
    this.expected = expected;
    this.current = current;
  }
}

/** The numbers that trailers have for expectations other than a revision. */
const EXPECTED_NUMBERS = { 'no-stream': -1, any: -2, 'stream-exists': -4 } as const;

/** Percent-encodes `%`, and all but printable ASCII, which is what trailers may contain. */
const ascii = (text: string): string => text.replace(/[^\x20-\x7e]|%/gu, (char) => encodeURIComponent(char));

const failure = (code: GrpcStatus, details: string, trailers: Readonly<Record<string, string>> = {}): CallFailure => ({
  code,
  details,
  trailers,
});

const trailersOf = (refusal: RpcError): CallFailure['trailers'] => {
  if (refusal instanceof PropertyMissing)
    return {
      exception: 'missing-required-metadata-property',
      'required-metadata-properties': REQUIRED_PROPERTIES.join(),
    };
  return refusal.code === 'PERMISSION_DENIED' ? { exception: 'access-denied' } : {};
};

const ofRequest = (refusal: RpcError): CallFailure => failure(refusal.code, refusal.message, trailersOf(refusal));

/**
 * True when the log cannot be used now, and nothing was recorded. This may pass: a data directory that was moved away
 * may be moved back.
 */
export const isLogAway = (thrown: unknown): boolean =>
  thrown instanceof StoreUnavailable || thrown instanceof DataDirectoryUnusable;

const ofFault = (fault: Fault): CallFailure => {
  if (fault instanceof AppendTooLarge)
    return failure('INVALID_ARGUMENT', fault.message, {
      exception: 'maximum-append-size-exceeded',
      'maximum-append-size': String(MAX_APPEND_BYTES),
    });
  if (fault instanceof OutcomeUnknown) return failure('DEADLINE_EXCEEDED', 'it is not known what was recorded');
  if (fault instanceof RevisionConflict) return failure('ABORTED', fault.message);
  if (isLogAway(fault)) return failure('UNAVAILABLE', 'Server Is Not Ready');
  return failure('INTERNAL', 'internal error');
};

/** Converts a thrown value to the failure of a call. A bug or a damaged log becomes INTERNAL without details. */
export const callFailureOf = (thrown: unknown): CallFailure => {
  if (thrown instanceof RpcError) return ofRequest(thrown);
  if (thrown instanceof GroupFailure || thrown instanceof ForwardedFailure)
    return failure(thrown.code, thrown.message, thrown.trailers);
  if (thrown instanceof StreamTombstoned)
    return failure('FAILED_PRECONDITION', thrown.message, {
      exception: 'stream-deleted',
      'stream-name': thrown.stream,
    });
  if (thrown instanceof WrongVersion)
    return failure('FAILED_PRECONDITION', thrown.message, {
      exception: 'wrong-expected-version',
      'stream-name': thrown.stream,
      // The official Node client ends its process when this is missing or not a number.
      'expected-version': String(
        typeof thrown.expected === 'bigint' ? thrown.expected : EXPECTED_NUMBERS[thrown.expected],
      ),
      'actual-version': String(thrown.current ?? ''),
    });
  return thrown instanceof Fault ? ofFault(thrown) : failure('INTERNAL', 'internal error');
};

/** Converts a failure to the status that ends its call. */
const failedStatus = ({ code, details, trailers }: CallFailure): FailedStatus => ({
  code: grpcStatusNumber(code),
  message: details,
  trailers: Object.fromEntries(Object.entries(trailers).map(([key, value]) => [key, ascii(value)])),
});

/** The logger of calls that failed by a bug or a damaged event log. A pino logger satisfies it. */
export interface ErrorLogger {
  error(fields: object, message: string): void;
}

/** Gives the status that ends a failed call; logs a bug or a damaged log with its stack. */
export const failedCall = (logger: ErrorLogger, path: string, thrown: unknown): FailedStatus => {
  const failure = callFailureOf(thrown);
  const isExpected = thrown instanceof GroupFailure || thrown instanceof ForwardedFailure;
  if (failure.code === 'INTERNAL' && !isExpected)
    logger.error({ path, err: thrown }, 'a call of the EventStoreDB protocol has failed');
  return failedStatus(failure);
};
