import type { RecordedEvent } from '../../services/kernel/event.js';

/** The events that were taken and are not written yet, in log order; kept to be folded again when a write fails. */
export type UnwrittenEvents = {
  /** Adds events, except those that are among them already because a call is repeated. */
  add(taken: readonly RecordedEvent[]): void;
  after(position: bigint): readonly RecordedEvent[];
  size(): { readonly events: number; readonly bytes: number };
  /** Drops the events up to a position. */
  writtenTo(position: bigint): void;
};

/** Creates an empty list. */
export const unwrittenEvents = (): UnwrittenEvents => {
  let events: RecordedEvent[] = [];
  let bytes = 0;
  const after = (position: bigint): RecordedEvent[] =>
    events.slice(events.findLastIndex((event) => event.position <= position) + 1);
  return {
    add: (taken) => {
      const last = events.at(-1)?.position ?? 0n;
      for (const event of taken) {
        if (event.position <= last) continue;
        events.push(event);
        bytes += event.data.length;
      }
    },
    after,
    size: () => ({ events: events.length, bytes }),
    writtenTo: (position) => {
      events = after(position);
      bytes = events.reduce((sum, { data }) => sum + data.length, 0);
    },
  };
};
