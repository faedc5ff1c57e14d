import { Fault } from '../kernel/fault.js';
import { RpcError } from '../kernel/rpc.js';

/** The log for details that are not sent to callers. A pino logger satisfies it. */
export interface GatewayLog {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The causes that have been logged. While an issuer is away, all calls that need its keys fail for the same one. */
const loggedCauses = new WeakSet<object>();

const isNewCause = (cause: unknown): boolean => {
  if (typeof cause !== 'object' || cause === null) return cause !== undefined;
  if (loggedCauses.has(cause)) return false;
  loggedCauses.add(cause);
  return true;
};

/**
 * Logs a fault or a bug with its stack, and an {@link RpcError} for the first call that fails for its cause; without a
 * cause, it only goes to the caller.
 */
export const logFailure = (log: GatewayLog, thrown: unknown, request: { requestId: string; rpc: string }): void => {
  if (thrown instanceof RpcError) {
    if (isNewCause(thrown.cause)) log.warn({ ...request, err: thrown }, 'a call has failed');
  } else if (thrown instanceof Fault) log.warn({ ...request, fault: thrown.code, err: thrown }, 'a call has failed');
  else log.error({ ...request, err: thrown }, 'a call has failed with an unexpected error');
};
