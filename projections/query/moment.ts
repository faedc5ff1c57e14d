import { invalid } from '../../services/kernel/rpc.js';
import type { Moment } from '../runtime/prefix-fold.js';
import { isMisreadTime } from '../../services/kernel/values/calendar-day.js';

/** Characters of a value that an error message quotes. */
const SHOWN = 100;

// The id of a log has no colon. A time without a zone, such as 2026-03-02T09:58:16.706, has some: without this rule it
// would be read as a position of another log.
const POSITION = /^(?:([^:]+)\.)?(\d{1,20})$/u;
const MAX_POSITION = 2n ** 64n - 1n;
// RFC 3339; `isMisreadTime` checks the date, and Date.parse the time and the offset.
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/u;

/** Milliseconds since 1970; NaN for a text that is no time. */
const timeOf = (text: string): number => (TIME.test(text) && !isMisreadTime(text) ? Date.parse(text) : NaN);

/**
 * Reads a moment of the past from a field of a request: a position as a number, a position as `flightlog-position` has
 * it, or a time of RFC 3339. Empty is now, `undefined`.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field when it is none of them, or a position of another log.
 */
export const momentOf = (text: string, field: string, logId: string): Moment | undefined => {
  if (text === '') return undefined;
  const [, log = logId, digits] = POSITION.exec(text) ?? [];
  if (digits !== undefined && log !== logId)
    throw invalid(field, `'${text.slice(0, SHOWN)}' is a position of another log`);
  if (digits !== undefined && BigInt(digits) <= MAX_POSITION) return { position: BigInt(digits) };
  const timeMs = timeOf(text);
  if (Number.isNaN(timeMs))
    throw invalid(field, `'${text.slice(0, SHOWN)}' is neither a position nor a time such as 2026-03-02T09:58:16Z`);
  return { timeMs };
};
