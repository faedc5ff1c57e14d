import type { RecordedEvent } from '../../kernel/event.js';

/** The newest events of a log, in a bounded buffer. */
export interface NewestEvents {
  /** The buffer has all events after this position. */
  start(): bigint;
  push(page: readonly RecordedEvent[]): void;
  /** The events after a position up to and including another, at most a batch of them. */
  batch(after: bigint, upTo: bigint): readonly RecordedEvent[];
}

/** Maximum size of the data in the buffer, in bytes: about ten seconds at 3,000 events a second. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A batch ends with the event by which its data reaches this size, in bytes. */
const BATCH_BYTES = 64 * 1024;

/** The index of the first event after a position. */
const indexAfter = (events: readonly RecordedEvent[], position: bigint): number => {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.position ?? position) > position) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** Opens an empty buffer for the events after a position. */
export const newestEvents = (after: bigint, maxEvents: number): NewestEvents => {
  let start = after;
  let events: RecordedEvent[] = [];
  let bytes = 0;

  const trim = (): void => {
    let dropped = 0;
    while (events.length - dropped > maxEvents || bytes > MAX_BYTES) {
      const oldest = events[dropped];
      if (!oldest) break;
      bytes -= oldest.data.length;
      start = oldest.position;
      dropped += 1;
    }
    if (dropped > 0) events = events.slice(dropped);
  };

  return {
    start: () => start,
    push: (page) => {
      for (const event of page) {
        events.push(event);
        bytes += event.data.length;
      }
      trim();
    },
    batch: (from, upTo) => {
      const first = indexAfter(events, from);
      let [end, length] = [first, 0];
      for (let next = events[end]; next && next.position <= upTo && length < BATCH_BYTES; next = events[end]) {
        length += next.data.length;
        end += 1;
      }
      return events.slice(first, end);
    },
  };
};
