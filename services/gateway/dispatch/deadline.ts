import { MAX_TIMER_MS } from '../../kernel/ports/timers.js';
import { invalid, RpcError } from '../../kernel/rpc.js';
import type { Deadline } from './call.js';
import type { Interceptor } from './dispatch.js';

const UNITS_MS = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 } as const;
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
/** Characters of a value that an error message quotes. */
const SHOWN = 100;

/**
 * Parses the `grpc-timeout` header (`5S`, `200m`).
 *
 * @returns milliseconds, at most the longest timer of Node; `undefined` when the header is absent.
 * @throws {RpcError} INVALID_ARGUMENT when the value is not a timeout.
 */
export const timeoutOf = (header: string | undefined): number | undefined => {
  if (header === undefined) return undefined;
  const [, digits, unit] = TIMEOUT.exec(header) ?? [];
  if (unit === undefined) throw invalid('grpc-timeout', `'${header.slice(0, SHOWN)}' is not a time such as 5S or 200m`);
  return Math.min(Number(digits) * UNITS_MS[unit as keyof typeof UNITS_MS], MAX_TIMER_MS);
};

/**
 * Runs work up to a deadline. Work that cannot be cancelled goes on, and its result is dropped.
 *
 * @throws {RpcError} DEADLINE_EXCEEDED when the deadline passes first.
 */
export const withinDeadline = <Result>(limit: Deadline | undefined, work: () => Promise<Result>): Promise<Result> => {
  if (limit === undefined) return work();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new RpcError('DEADLINE_EXCEEDED', limit.message)), limit.ms);
    work()
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  });
};

const isPast = (limit: Deadline | undefined, startedAt: number): limit is Deadline =>
  limit !== undefined && performance.now() - startedAt >= limit.ms;

/**
 * Fails a call at its deadline. While its timer cannot fire, because other work keeps the thread, the call itself may
 * find out that its time is over, and ends as a cancelled one: that is the deadline, too.
 */
export const deadline: Interceptor = async ({ deadline: limit, startedAt }, next) => {
  try {
    return await withinDeadline(limit, next);
  } catch (error) {
    if (error instanceof RpcError && error.code === 'CANCELLED' && isPast(limit, startedAt))
      throw new RpcError('DEADLINE_EXCEEDED', limit.message);
    throw error;
  }
};
