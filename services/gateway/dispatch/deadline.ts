import { RpcError } from '../../kernel/rpc.js';
import type { Interceptor } from './dispatch.js';

const UNITS_MS = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 } as const;
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * How long a caller waits for the end of a call, in milliseconds, from `grpc-timeout` (`5S`, `200m`); `undefined` when
 * without end.
 *
 * @throws {RpcError} INVALID_ARGUMENT when what is said is no time.
 */
export const timeoutOf = (said: string | undefined): number | undefined => {
  if (said === undefined) return undefined;
  const [, digits, unit] = TIMEOUT.exec(said) ?? [];
  if (unit === undefined) throw new RpcError('INVALID_ARGUMENT', 'invalid value for grpc-timeout');
  return Math.min(Number(digits) * UNITS_MS[unit as keyof typeof UNITS_MS], MAX_TIMER_MS);
};

/**
 * Waits for an answer as long as the caller does. What is asked goes on where it cannot be stopped, and its answer is
 * not sent.
 *
 * @throws {RpcError} DEADLINE_EXCEEDED once the time is over.
 */
export const deadline: Interceptor = (call, next) => {
  if (call.deadline === undefined) return next();
  const { ms, message } = call.deadline;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new RpcError('DEADLINE_EXCEEDED', message)), ms);
    next()
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  });
};
