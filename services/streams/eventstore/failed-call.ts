import { type ServiceError, status } from '@grpc/grpc-js';
import { failureOf, serviceError } from './failure.js';

/** Hears of calls that met a fault or a bug. A pino logger is one. */
export interface StreamsLog {
  error(fields: object, message: string): void;
}

/** The error that ends a call; a bug, or a log that is damaged, is logged with its stack. */
export const failedCall = (log: StreamsLog, rpc: string, thrown: unknown): ServiceError => {
  const failure = failureOf(thrown);
  if (failure.code === status.INTERNAL)
    log.error({ rpc, err: thrown }, 'a call of the EventStoreDB protocol has failed');
  return serviceError(failure);
};
