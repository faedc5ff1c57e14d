import type { DatabaseSync } from '@photostructure/sqlite';
import { QueryTooSlow } from '../../../services/kernel/fault.js';

/**
 * Limits the time of queries: `within` runs one. The driver cannot interrupt a statement, so a query that scans rows
 * calls `within_time()` regularly, which fails the query when its time is up. A query of several statements calls
 * `assertInTime` between them.
 */
export const timeLimit = (
  db: InstanceType<typeof DatabaseSync>,
  limitMs: number,
): { within: <Result>(query: () => Result) => Result; assertInTime: () => void } => {
  let endsAt = Infinity;
  const isOver = (): boolean => performance.now() > endsAt;
  const assertInTime = (): void => {
    if (isOver()) throw new Error('the query has reached its time limit');
  };
  db.function('within_time', { directOnly: true }, () => {
    assertInTime();
    return 1;
  });
  const within = <Result>(query: () => Result): Result => {
    endsAt = performance.now() + limitMs;
    try {
      return query();
    } catch (error) {
      throw isOver() ? new QueryTooSlow(`the query took longer than its limit of ${limitMs} ms`, error) : error;
    }
  };
  return { within, assertInTime };
};
