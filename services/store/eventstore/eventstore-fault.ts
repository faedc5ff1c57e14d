import { ErrorType } from '@eventstore/db-client';
import {
  AppendTooLarge,
  CorruptEvent,
  Fault,
  OutcomeUnknown,
  RevisionConflict,
  StoreUnavailable,
} from '../../kernel/fault.js';

/**
 * Returns the `type` of an error of the client library. Not tested by class: errors before the first call of a
 * connection are plain gRPC errors, and two copies of the library have different classes.
 */
const kindOf = (error: unknown): string | undefined => {
  const type = (error as { readonly type?: unknown } | null)?.type;
  return typeof type === 'string' ? type : undefined;
};

/** Matches texts with words. Some errors of the client have an empty text or only a colon, but all have a type. */
const SAYS = /[\p{L}\p{N}]/u;

/** The prefix that gRPC adds to the text of a status. */
const CODE = /^\d+ [A-Z_]+: /u;

/** Matches the introduction of the error by which a connection failed. */
const LAST_ERROR = /^(?<start>No connection established)\. Last error: (?:Error: |null\. Resolution note: )?/u;

/** Matches the end that gRPC adds to the text of a failed connection when it has nothing to say about the address. */
const NO_NOTE = /\.? Resolution note: *$/u;

/** Returns what an error says, without the additions of gRPC; its type when it says nothing. */
export const textOf = (error: unknown): string => {
  const { message, details } = error as { readonly message?: string; readonly details?: string };
  const text =
    [details, message?.replace(CODE, ''), kindOf(error)].find((each) => each !== undefined && SAYS.test(each)) ??
    String(error);
  return text.replace(NO_NOTE, '').replace(LAST_ERROR, '$<start>: ');
};

const denied = (text: string): string =>
  `the event store denies access: ${text} (the user is that of the connection string, esdb://USER:PASSWORD@HOST)`;

/** No node could be called: none is reachable, none is the leader, or the last one was abandoned. Nothing was sent. */
export class NodeUnreached extends Error {
  constructor(cause: unknown) {
    super(textOf(cause), { cause });
    this.name = 'NodeUnreached';
  }
}

/** Permanent errors, which a retry does not resolve, and the fault that each becomes. */
const FINAL: Readonly<Record<string, (text: string, cause: unknown) => Fault>> = {
  [ErrorType.WRONG_EXPECTED_VERSION]: (text, cause) => new RevisionConflict(text, cause),
  [ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED]: (text, cause) => new AppendTooLarge(text, cause),
  [ErrorType.ACCESS_DENIED]: (text, cause) => new StoreUnavailable(denied(text), cause),
  [ErrorType.STREAM_DELETED]: (text, cause) =>
    new CorruptEvent(`a stream was deleted in the event store: ${text}`, cause),
  [ErrorType.INVALID_ARGUMENT]: (text, cause) => new StoreUnavailable(`the event store refuses: ${text}`, cause),
  [ErrorType.UNSUPPORTED]: (text, cause) => new StoreUnavailable(`the event store cannot do it: ${text}`, cause),
};

/**
 * Matches the client's error for an answer without a class of its own. It contains the type of the answer, with the
 * reason after a colon if there is one, or the text of an answer without a type, such as `Server Is Not Ready`.
 */
const UNKNOWN_ANSWER = /^Could not recognize (?<answer>[^:]*)/u;

/** Permanent errors among these answers. The size limit of single events exists since 24.10.4. */
const FINAL_ANSWERS: Readonly<Record<string, (text: string, cause: unknown) => Fault>> = {
  MaximumAppendEventSizeExceeded: (_, cause) =>
    new AppendTooLarge("an event is above the event store's MaxAppendEventSize", cause),
  BadRequest: (text, cause) => new StoreUnavailable(`the event store refuses: ${text}`, cause),
};

const unknownAnswer = (error: unknown): string | undefined => UNKNOWN_ANSWER.exec(textOf(error))?.groups?.['answer'];

/** Matches errors of requests that never reached the server, so nothing was written. */
const UNSENT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|No connection established|Name resolution failed|has been shut down/u;

/** Returns the fault for a permanent error; `undefined` for an error after which a retry may succeed. */
export const permanentFault = (error: unknown): Fault | undefined => {
  if (error instanceof Fault) return error;
  const known = FINAL[kindOf(error) ?? ''] ?? FINAL_ANSWERS[unknownAnswer(error) ?? ''];
  return known?.(textOf(error), error);
};

/** Errors that the server has answered with, so the connection still works. */
const ANSWERED: readonly (string | undefined)[] = [ErrorType.TIMEOUT, ErrorType.DEADLINE_EXCEEDED];

/** The answer of a node that is not the leader any more, or not yet. */
const NOT_READY = /^Server Is Not Ready/iu;

/** True when an append failed because its connection is lost, or because its node does not accept appends. */
export const isConnectionLost = (error: unknown): boolean => {
  const answer = unknownAnswer(error);
  if (answer !== undefined) return NOT_READY.test(answer);
  return permanentFault(error) === undefined && !ANSWERED.includes(kindOf(error));
};

/** Those of these answers after which an append may have been written. */
const UNSURE_ANSWERS: ReadonlySet<string> = new Set(['InternalError', 'NoResult']);

/** True when an append that failed may have been written. It was not when the server was not ready or too busy. */
export const isOutcomeUnknown = (error: unknown): boolean => {
  const answer = unknownAnswer(error);
  if (answer !== undefined) return UNSURE_ANSWERS.has(answer);
  return !(error instanceof NodeUnreached) && !UNSENT.test(textOf(error));
};

/** True when the server denied access to the user of the connection. */
export const isAccessDenied = (error: unknown): boolean => kindOf(error) === ErrorType.ACCESS_DENIED;

/** True when the stream to be read does not exist. */
export const isNotFound = (error: unknown): boolean => kindOf(error) === ErrorType.STREAM_NOT_FOUND;

/**
 * Matches errors of a read that starts at a position without an event, or backwards from beyond the end. For some reads
 * the server gives no clearer error than these.
 */
const NO_EVENT_POSITION = /Unexpected ReadAllResult|Exception was thrown by handler|invalid position/iu;

/** True when a read of the log may have failed because no event has its start position. */
export const isNoEventPosition = (error: unknown): boolean => {
  const answer = error instanceof Fault ? error.cause : error; // a fault without a cause is no answer of the server
  return answer !== undefined && NO_EVENT_POSITION.test(textOf(answer));
};

/**
 * True when a live subscription has ended because its events were not taken in time: this process ends it when too many
 * wait here, before the server drops it with 32 unsent events. It must be reopened at its last position.
 */
export const isSlowConsumer = (error: unknown): boolean => /Consumer too slow/iu.test(textOf(error));

/**
 * Makes the fault of an operation that is not tried again: `OutcomeUnknown` when it may have been written,
 * `StoreUnavailable` when it was not.
 */
export const retriesUsedUpFault = (failureText: string, error: unknown, mayBeWritten: boolean): Fault => {
  const text = `${failureText}: ${textOf(error)}`;
  return mayBeWritten ? new OutcomeUnknown(text, error) : new StoreUnavailable(text, error);
};

/** Converts the error of a read to a fault. */
export const readFault = (error: unknown): Fault =>
  permanentFault(error) ?? new StoreUnavailable(`the event store cannot be read: ${textOf(error)}`, error);
