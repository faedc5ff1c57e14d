import { RpcError } from '../../kernel/rpc.js';

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The time that a caller gives a call, in milliseconds, from `Grpc-Timeout` (`5S`, `200m`).
 *
 * @throws {RpcError} INVALID_ARGUMENT when it is no such time.
 */
export const timeoutMs = (header: string | undefined): number | undefined => {
  if (header === undefined) return undefined;
  const [, count, unit] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  if (count === undefined || unit === undefined)
    throw new RpcError('INVALID_ARGUMENT', 'invalid value for grpc-timeout');
  return Math.min(Number(count) * (UNIT_MS[unit] ?? 0), LONGEST_TIMER_MS);
};

/**
 * Waits for an answer as long as the caller does. What is asked goes on where it cannot be stopped.
 *
 * @throws {RpcError} DEADLINE_EXCEEDED once the time is over.
 */
export const within = async <Value>(ms: number | undefined, answer: Promise<Value>): Promise<Value> => {
  if (ms === undefined) return answer;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new RpcError('DEADLINE_EXCEEDED', 'Deadline exceeded')), ms);
  });
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
};
