import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  LogPage,
  ReadLogBackwardsOptions,
  ReadLogOptions,
  ReadStreamOptions,
} from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';
import { PAGE_ROWS, type LogRows } from './rows.js';

/** Default first revision by direction, and the step from one revision to the next. */
const FIRST = { forwards: 0, backwards: Number.MAX_SAFE_INTEGER } as const;
const STEP = { forwards: 1, backwards: -1 } as const;

/**
 * A revision or position as a number; values above `Number.MAX_SAFE_INTEGER` are capped there, which is beyond every
 * log.
 */
export const cappedNumber = (revisionOrPosition: bigint): number =>
  Number(revisionOrPosition > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : revisionOrPosition);

/** Reads the events of a stream page by page; other work gets a turn of the event loop between pages. */
export async function* streamPages(
  rows: LogRows,
  stream: StreamName,
  { from, direction = 'forwards', limit = Infinity }: ReadStreamOptions = {},
): AsyncGenerator<readonly RecordedEvent[]> {
  let next = from === undefined ? FIRST[direction] : cappedNumber(from);
  let left = limit;
  while (left > 0) {
    const size = Math.min(PAGE_ROWS, left);
    const { events, isLast } = rows.streamPage(stream, next, direction, size);
    if (events.length > 0) yield events;
    if (isLast) return;
    next = Number(events.at(-1)?.revision) + STEP[direction];
    left -= events.length;
    if (left > 0) await nextTurn();
  }
}

/** Reads the log up to a position page by page; other work gets a turn of the event loop between pages. */
export async function* logPages(
  rows: LogRows,
  upTo: number,
  { after, filter, limit = Infinity }: ReadLogOptions,
): AsyncGenerator<LogPage> {
  let position = cappedNumber(after);
  let left = limit;
  while (left > 0 && position < upTo) {
    const page = rows.logPage({ after: position, upTo }, filter, Math.min(PAGE_ROWS, left));
    yield page;
    position = Number(page.position);
    left -= page.events.length;
    await nextTurn();
  }
}

/**
 * Reads the log backwards page by page, from its head or from the last event before a position; other work gets a turn
 * of the event loop between pages.
 */
export async function* pagesBefore(
  rows: LogRows,
  head: number,
  { before, limit = Infinity }: ReadLogBackwardsOptions = {},
): AsyncGenerator<readonly RecordedEvent[]> {
  let next = before === undefined ? head + 1 : Math.min(cappedNumber(before), head + 1);
  let left = limit;
  while (left > 0) {
    const size = Math.min(PAGE_ROWS, left);
    const { events, isLast } = rows.pageBefore(next, size);
    if (events.length > 0) yield events;
    if (isLast) return;
    next = Number(events.at(-1)?.position);
    left -= events.length;
    await nextTurn();
  }
}
