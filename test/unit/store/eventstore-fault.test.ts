import { AccessDeniedError, DeadlineExceededError, UnavailableError, UnknownError } from '@eventstore/db-client';
import { describe, expect, it } from 'vitest';
import { AppendTooLarge, StoreUnavailable } from '../../../services/kernel/fault.js';
import {
  retriesUsedUpFault,
  permanentFault,
  isConnectionLost,
  isOutcomeUnknown,
} from '../../../services/store/eventstore/eventstore-fault.js';

/** The error of the client library for an append result that it does not know. */
const unrecognized = (answer: string) => new UnknownError(undefined, `Could not recognize ${answer}`);

describe('what an event store answers', () => {
  it('is final where an event is larger than it takes, also to a client that does not know the limit', () => {
    const error = unrecognized('MaximumAppendEventSizeExceeded');
    expect(permanentFault(error)).toBeInstanceOf(AppendTooLarge);
    expect(isConnectionLost(error)).toBe(false);
  });

  it('is final where it finds the request bad', () => {
    expect(permanentFault(unrecognized('BadRequest'))).toBeInstanceOf(StoreUnavailable);
    expect(permanentFault(new AccessDeniedError())).toBeInstanceOf(StoreUnavailable);
  });

  it('says what it is where the client has no text for it', () => {
    expect(permanentFault(new AccessDeniedError())?.message).toMatch(/denies access: access-denied .*USER:PASSWORD/u);
    expect(retriesUsedUpFault('append', new DeadlineExceededError(), true).message).toBe('append: deadline-exceeded');
  });

  it('is tried again on the same connection where it is busy, and nothing was recorded', () => {
    const error = unrecognized('Server Is Too Busy');
    expect([permanentFault(error), isConnectionLost(error), isOutcomeUnknown(error)]).toEqual([
      undefined,
      false,
      false,
    ]);
  });

  it('leaves it open what was recorded where it ran out of time, or the connection broke', () => {
    for (const error of [new DeadlineExceededError(), new UnavailableError(), new UnknownError()]) {
      expect(permanentFault(error)).toBeUndefined();
      expect(isOutcomeUnknown(error)).toBe(true);
    }
    expect(isConnectionLost(new DeadlineExceededError())).toBe(false);
    expect(isConnectionLost(new UnavailableError())).toBe(true);
  });
});
