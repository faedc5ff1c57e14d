import { type ServiceError, status } from '@grpc/grpc-js';
import { GroupFailure, ForwardedFailure } from './groups/group-failure.js';
import { failureOf, serviceError } from './failure.js';

/** The log for calls that failed by a bug or a damaged log. A pino logger satisfies it. */
export interface StreamsLog {
  error(fields: object, message: string): void;
}

/** Makes the error that ends a call; logs a bug or a damaged log with its stack. */
export const failedCall = (log: StreamsLog, rpc: string, thrown: unknown): ServiceError => {
  const failure = failureOf(thrown);
  const isSaid = thrown instanceof GroupFailure || thrown instanceof ForwardedFailure;
  if (failure.code === status.INTERNAL && !isSaid)
    log.error({ rpc, err: thrown }, 'a call of the EventStoreDB protocol has failed');
  return serviceError(failure);
};
