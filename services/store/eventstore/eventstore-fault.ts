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
 * The kind of a client's error. By its word and not by its class: what comes before the first call of a connection is
 * an error of gRPC as it is, and two copies of the library have two classes.
 */
const kindOf = (error: unknown): string | undefined => {
  const type = (error as { readonly type?: unknown } | null)?.type;
  return typeof type === 'string' ? type : undefined;
};

/** A text has words; some of the client's errors have none, or a colon alone, but all have a type. */
const SAYS = /[\p{L}\p{N}]/u;

/** What gRPC puts before the text of a status. */
const CODE = /^\d+ [A-Z_]+: /u;

const textOf = (error: unknown): string => {
  const { message, details } = error as { readonly message?: string; readonly details?: string };
  return (
    [details, message?.replace(CODE, ''), kindOf(error)].find((text) => text !== undefined && SAYS.test(text)) ??
    String(error)
  );
};

const denied = (text: string): string =>
  `the event store denies access: ${text} (the user is that of the connection string, esdb://USER:PASSWORD@HOST)`;

/** No node could be asked: none is there, or none leads. Nothing was sent. */
export class NodeUnreached extends Error {
  constructor(cause: unknown) {
    super(textOf(cause), { cause });
    this.name = 'NodeUnreached';
  }
}

/** Errors that no second try mends, and the fault that each is. */
const FINAL: Readonly<Record<string, (text: string, cause: unknown) => Fault>> = {
  [ErrorType.WRONG_EXPECTED_VERSION]: (text, cause) => new RevisionConflict(text, cause),
  [ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED]: (text, cause) => new AppendTooLarge(text, cause),
  [ErrorType.ACCESS_DENIED]: (text, cause) => new StoreUnavailable(denied(text), cause),
  [ErrorType.STREAM_DELETED]: (text, cause) =>
    new CorruptEvent(`a stream was deleted in the event store: ${text}`, cause),
  [ErrorType.INVALID_ARGUMENT]: (text, cause) => new StoreUnavailable(`the event store refuses: ${text}`, cause),
  [ErrorType.UNSUPPORTED]: (text, cause) => new StoreUnavailable(`the event store cannot do it: ${text}`, cause),
};

/** Answers that the client knows no class for: it says their message, which for these is their type. */
const UNKNOWN_ANSWER = /^Could not recognize (?<answer>.*)$/u;

/** Those of them that no second try mends. A limit on single events came with 24.10.4. */
const FINAL_ANSWERS: Readonly<Record<string, (text: string, cause: unknown) => Fault>> = {
  MaximumAppendEventSizeExceeded: (_, cause) =>
    new AppendTooLarge("an event is above the event store's MaxAppendEventSize", cause),
  BadRequest: (text, cause) => new StoreUnavailable(`the event store refuses: ${text}`, cause),
};

const unknownAnswer = (error: unknown): string | undefined => UNKNOWN_ANSWER.exec(textOf(error))?.groups?.['answer'];

/** Never got as far as the server: nothing can have been written. */
const UNSENT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|No connection established|Name resolution failed|has been shut down/u;

/** The fault that an error is, where trying again is of no use; `undefined` where it may be. */
export const finalFault = (error: unknown): Fault | undefined => {
  if (error instanceof Fault) return error;
  const known = FINAL[kindOf(error) ?? ''] ?? FINAL_ANSWERS[unknownAnswer(error) ?? ''];
  return known?.(textOf(error), error);
};

/** Errors that an answer has brought: the connection is as good as before. */
const ANSWERED: readonly (string | undefined)[] = [ErrorType.TIMEOUT, ErrorType.DEADLINE_EXCEEDED];

/** What a node answers that leads no more, or not yet. */
const NOT_READY = /^Server Is Not Ready/iu;

/** Whether an append failed because its connection did, or because its node is none to append to. */
export const isConnectionLost = (error: unknown): boolean => {
  const answer = unknownAnswer(error);
  if (answer !== undefined) return NOT_READY.test(answer);
  return finalFault(error) === undefined && !ANSWERED.includes(kindOf(error));
};

/** Whether an append that failed so can have been written. One that a server is not ready for, or too busy, was not. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  !(error instanceof NodeUnreached) && !UNSENT.test(textOf(error)) && unknownAnswer(error) === undefined;

/** Whether the user of the connection may not do it. */
export const isAccessDenied = (error: unknown): boolean => kindOf(error) === ErrorType.ACCESS_DENIED;

/** The stream that was to be read is not there. */
export const isNotFound = (error: unknown): boolean => kindOf(error) === ErrorType.STREAM_NOT_FOUND;

/** A position that no event has, or one beyond the end for a read backwards: for some reads the server says no more. */
const NO_PLACE = /Unexpected ReadAllResult|Exception was thrown by handler|invalid position/iu;

/** Whether a read of all can have failed because it was to begin where no event is. */
export const isNoPlace = (error: unknown): boolean =>
  NO_PLACE.test(textOf(error instanceof Fault ? error.cause : error));

/** The server lets go of a live subscription that leaves 32 events unread: it has to be made anew from where it was. */
export const isSlowConsumer = (error: unknown): boolean => /Consumer too slow/iu.test(textOf(error));

/** The fault of something that was tried for long enough. */
export const exhaustedFault = (what: string, error: unknown, mayBeWritten: boolean): Fault => {
  const text = `${what}: ${textOf(error)}`;
  return mayBeWritten ? new OutcomeUnknown(text, error) : new StoreUnavailable(text, error);
};

/** The fault of a read that failed. */
export const readFault = (error: unknown): Fault =>
  finalFault(error) ?? new StoreUnavailable(`the event store cannot be read: ${textOf(error)}`, error);
