import type { Timestamp } from '@bufbuild/protobuf/wkt';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';

const NANOS_A_MS = 1_000_000;
const MS_A_SECOND = 1_000;

/** The executions that have been read, the newest first, and the token of those after them; empty when that is all. */
export type ExecutionList = { readonly executions: readonly Execution[]; readonly token: string };

/**
 * A range of times of creation, in whole milliseconds since 1970: from the first on, before the second. Without `to` it
 * has the newest, without `from` the oldest.
 */
export type CreatedRange = { readonly from?: number; readonly to?: number };

/** The time of creation, rounded down, so that each execution is in exactly one millisecond. */
const createdMs = ({ closure }: Execution): number => {
  const { seconds, nanos }: Pick<Timestamp, 'seconds' | 'nanos'> = closure?.createdAt ?? { seconds: 0n, nanos: 0 };
  return Number(seconds) * MS_A_SECOND + Math.floor(nanos / NANOS_A_MS);
};

/** The range that has the executions from one row to another; from the first row on, all newer ones too. */
export const rangeOfRows = (executions: readonly Execution[], first: number, last: number): CreatedRange => {
  const [newest, oldest] = [executions[first], executions[last]];
  return {
    ...(oldest && { from: createdMs(oldest) }),
    ...(newest && first > 0 && { to: createdMs(newest) + 1 }),
  };
};

/** The filters with the conditions of a range. */
export const filtersWithin = (filters: string, { from, to }: CreatedRange): string => {
  const textOf = (ms: number): string => new Date(ms).toISOString();
  return [
    filters,
    from !== undefined && `gte(created_at,${textOf(from)})`,
    to !== undefined && `lt(created_at,${textOf(to)})`,
  ]
    .filter(Boolean)
    .join('+');
};

/**
 * Replaces the executions of a range by those that were read of it. When there were more in the range than were read,
 * what was in the list after them is left out, because between them executions would be missing.
 */
export const withRange = (list: ExecutionList, range: CreatedRange, read: ExecutionList): ExecutionList => {
  const { from = -Infinity, to = Infinity } = range;
  const newer = list.executions.filter((each) => createdMs(each) >= to);
  if (read.token !== '') return { executions: [...newer, ...read.executions], token: read.token };
  const older = list.executions.filter((each) => createdMs(each) < from);
  return { executions: [...newer, ...read.executions, ...older], token: list.token };
};

/** Adds the page that the token of the list has asked for. */
export const withPage = (list: ExecutionList, token: string, page: ExecutionList): ExecutionList =>
  list.token === token ? { executions: [...list.executions, ...page.executions], token: page.token } : list;
