import { Fault } from '../kernel/fault.js';
import { RpcError } from '../kernel/rpc.js';

/** The log for details that are not sent to callers. A pino logger satisfies it. */
export interface GatewayLog {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Logs a fault or a bug with its stack, and an {@link RpcError} that has a cause; the others only go to the caller. */
export const logFailure = (log: GatewayLog, thrown: unknown, request: { requestId: string; rpc: string }): void => {
  if (thrown instanceof RpcError) {
    if (thrown.cause !== undefined) log.warn({ ...request, err: thrown }, 'a call has failed');
  } else if (thrown instanceof Fault) log.warn({ ...request, fault: thrown.code, err: thrown }, 'a call has failed');
  else log.error({ ...request, err: thrown }, 'a call has failed with an unexpected error');
};
