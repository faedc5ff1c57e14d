import { Metadata, type ServiceError, status } from '@grpc/grpc-js';

/** A text in which characters that headers cannot have are percent-encoded. */
const ascii = (text: string): string => text.replace(/[^\x20-\x7e]/gu, (char) => encodeURIComponent(char));

/** The error of a call, with the status, the text and the trailers that EventStoreDB sends. */
const callError = (code: status, details: string, trailers: Readonly<Record<string, string>> = {}): ServiceError => {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, ascii(value));
  return Object.assign(new Error(details), { code, details: ascii(details), metadata });
};

/** The call requires the leader, which is another node. */
export const notLeader = (port: number): ServiceError =>
  callError(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(port),
  });

/** The cluster has no leader. */
export const notReady = (): ServiceError => callError(status.UNAVAILABLE, 'Server Is Not Ready');

/** A read of the whole log fails: no record begins at its position, or it asks for no events. */
export const notAPosition = (): ServiceError => callError(status.UNKNOWN, 'Unexpected ReadAllResult: Error');

/** A read of a stream fails: it asks for no events, or reads forwards from the end. */
export const badStreamRead = (): ServiceError => callError(status.UNKNOWN, 'Unexpected ReadStreamResult: Error');

/** The answer of EventStoreDB to a request that makes its code throw an exception. */
export const unhandled = (): ServiceError => callError(status.UNKNOWN, 'Exception was thrown by handler.');

/** A subscriber has left too many live events unread. */
export const tooSlow = (): ServiceError =>
  callError(
    status.ABORTED,
    'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
  );

/** A write was not confirmed in time; its outcome is unknown. */
export const timedOut = (): ServiceError => callError(status.ABORTED, 'Operation timed out: Write timed out');

/** An append has more than `most` bytes of data. */
export const tooLarge = (most: number): ServiceError =>
  callError(status.INVALID_ARGUMENT, `Maximum Append Size of ${most} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(most),
  });

/** The stream was deleted permanently. */
export const streamDeleted = (stream: string): ServiceError =>
  callError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });

/** The stream that is to be deleted is at another revision than expected; `actual` is undefined without events. */
export const wrongVersion = (stream: string, expected: string, actual: bigint | undefined): ServiceError =>
  callError(
    status.FAILED_PRECONDITION,
    `Delete failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expected}, Actual version: ${actual ?? -1n}`,
    {
      exception: 'wrong-expected-version',
      'stream-name': stream,
      'expected-version': expected,
      'actual-version': String(actual ?? ''),
    },
  );

/** The request itself is wrong, as the text says. */
export const invalidArgument = (text: string): ServiceError => callError(status.INVALID_ARGUMENT, text);
