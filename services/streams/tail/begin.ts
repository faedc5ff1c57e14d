import type { TailRequest } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { ownTimeOf } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { invalid } from '../../kernel/rpc.js';
import { isMisreadTime } from '../../kernel/values/calendar-day.js';

/** The beginning of a tail: after a position, and only what was recorded from a time on. */
export type TailStart = { readonly after: bigint; readonly sinceMs: number };

const POSITION = /^\d{1,19}$/u;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/u;

/** The clocks of the processes that write one log differ by less than this, in milliseconds. */
const CLOCK_SKEW_MS = 60_000;

/**
 * The position of the last event that was recorded well before a time; 0n when there is none. Events of other writers
 * are passed over: their times may be any number, so events from the time on may come before them.
 */
const before = async (log: Pick<EventLog, 'readLogBackwards'>, sinceMs: number): Promise<bigint> => {
  for await (const page of log.readLogBackwards()) {
    const found = page.find((event) => (ownTimeOf(event) ?? Infinity) < sinceMs - CLOCK_SKEW_MS);
    if (found) return found.position;
  }
  return 0n;
};

const timeIn = (text: string): number => {
  const ms = TIME.test(text) && !isMisreadTime(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms)) throw invalid('from', 'not start, now, a position, or a time such as 2026-03-02T09:58:16Z');
  return ms;
};

/**
 * Finds where a tail begins.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const tailStartOf = async (
  { from, lastEventId }: TailRequest,
  log: Pick<EventLog, 'head' | 'readLogBackwards'>,
): Promise<TailStart> => {
  const always = { sinceMs: -Infinity };
  if (lastEventId !== '') {
    if (!POSITION.test(lastEventId)) throw invalid('last_event_id', 'not a position');
    return { ...always, after: BigInt(lastEventId) };
  }
  if (from === '' || from === 'now') return { ...always, after: await log.head() };
  if (from === 'start') return { ...always, after: 0n };
  if (POSITION.test(from)) return { ...always, after: BigInt(from) === 0n ? 0n : BigInt(from) - 1n };
  const sinceMs = timeIn(from);
  return { after: await before(log, sinceMs), sinceMs };
};
