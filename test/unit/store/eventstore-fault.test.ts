import { AccessDeniedError, DeadlineExceededError, UnavailableError, UnknownError } from '@eventstore/db-client';
import { describe, expect, it } from 'vitest';
import { AppendTooLarge, StoreUnavailable } from '../../../services/kernel/fault.js';
import {
  NodeUnreached,
  retriesUsedUpFault,
  permanentFault,
  isConnectionLost,
  isOutcomeUnknown,
} from '../../../services/store/eventstore/eventstore-fault.js';

/** The error of the client library for an append result that it does not know. */
const unrecognized = (answer: string) => new UnknownError(undefined, `Could not recognize ${answer}`);

describe('an error of an event store', () => {
  it('is permanent for an event that is too large, although the client library does not know this error', () => {
    const error = unrecognized('MaximumAppendEventSizeExceeded');
    expect(permanentFault(error)).toBeInstanceOf(AppendTooLarge);
    expect(isConnectionLost(error)).toBe(false);
  });

  it('is permanent for a bad request and for denied access', () => {
    expect(permanentFault(unrecognized('BadRequest'))).toBeInstanceOf(StoreUnavailable);
    expect(permanentFault(new AccessDeniedError())).toBeInstanceOf(StoreUnavailable);
  });

  it('becomes a fault that names its type, when the client library gives no text', () => {
    expect(permanentFault(new AccessDeniedError())?.message).toMatch(/denies access: access-denied .*USER:PASSWORD/u);
    const mayBeWritten = true;
    expect(retriesUsedUpFault('append', new DeadlineExceededError(), mayBeWritten).message).toBe(
      'append: deadline-exceeded',
    );
  });

  it.each([
    [
      'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ',
      'No connection established: connect ECONNREFUSED 127.0.0.1:1',
    ],
    [
      'No connection established. Last error: null. Resolution note: TXT record not found',
      'No connection established: TXT record not found',
    ],
    ['Name resolution failed for target dns:away', 'Name resolution failed for target dns:away'],
  ])('of a connection has a text without what gRPC adds: %s', (details, text) => {
    const failed = Object.assign(new Error(`14 UNAVAILABLE: ${details}`), { details });
    expect(new NodeUnreached(failed).message).toBe(text);
    expect(isOutcomeUnknown(failed)).toBe(false);
  });

  it('is retried on the same connection when the server is too busy: nothing was recorded', () => {
    const error = unrecognized('Server Is Too Busy');
    expect([permanentFault(error), isConnectionLost(error), isOutcomeUnknown(error)]).toEqual([
      undefined,
      false,
      false,
    ]);
  });

  it('leaves the outcome unknown after a timeout, a broken connection or an error without a type', () => {
    for (const error of [new DeadlineExceededError(), new UnavailableError(), new UnknownError()]) {
      expect(permanentFault(error)).toBeUndefined();
      expect(isOutcomeUnknown(error)).toBe(true);
    }
    expect(isConnectionLost(new DeadlineExceededError())).toBe(false);
    expect(isConnectionLost(new UnavailableError())).toBe(true);
    expect(isConnectionLost(new UnknownError())).toBe(true);
  });
});
