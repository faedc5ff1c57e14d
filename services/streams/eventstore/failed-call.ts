import type { FailedStatus } from '../../kernel/ports/encoded-calls.js';
import { failedStatus, failureOf } from './failure.js';
import { ForwardedFailure, GroupFailure } from './groups/group-failure.js';

/** The logger of calls that failed by a bug or a damaged event log. A pino logger satisfies it. */
export interface StreamsLog {
  error(fields: object, message: string): void;
}

/** Gives the status that ends a failed call; logs a bug or a damaged log with its stack. */
export const failedCall = (log: StreamsLog, path: string, thrown: unknown): FailedStatus => {
  const failure = failureOf(thrown);
  const isExpected = thrown instanceof GroupFailure || thrown instanceof ForwardedFailure;
  if (failure.code === 'INTERNAL' && !isExpected)
    log.error({ path, err: thrown }, 'a call of the EventStoreDB protocol has failed');
  return failedStatus(failure);
};
