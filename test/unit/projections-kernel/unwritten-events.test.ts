import { describe, expect, it } from 'vitest';
import { unwrittenEvents } from '../../../projections/runtime/unwritten-events.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { recorded } from './tallies.js';

const events = recorded([{ stream: 's' }, { stream: 't' }, { stream: 's' }, { stream: 't' }]);
const bytesOf = (some: readonly RecordedEvent[]): number => some.reduce((sum, { data }) => sum + data.length, 0);

describe('events that are not written yet', () => {
  it('are those that were taken, each once though it is taken again', () => {
    const unwritten = unwrittenEvents();
    expect(unwritten.size()).toEqual({ events: 0, bytes: 0 });
    unwritten.add(events.slice(0, 2));
    unwritten.add(events.slice(0, 3));
    unwritten.add(events);
    expect(unwritten.after(0n)).toEqual(events);
    expect(unwritten.size()).toEqual({ events: 4, bytes: bytesOf(events) });
  });

  it('are given after a position, also one between two events, and dropped up to a position', () => {
    const unwritten = unwrittenEvents();
    const some = [events[0]!, events[2]!, events[3]!];
    unwritten.add(some);
    expect(unwritten.after(2n)).toEqual(events.slice(2));
    expect(unwritten.after(3n)).toEqual(events.slice(3));
    expect(unwritten.after(4n)).toEqual([]);
    unwritten.writtenTo(2n);
    expect([unwritten.after(0n), unwritten.size()]).toEqual([
      events.slice(2),
      { events: 2, bytes: bytesOf(events.slice(2)) },
    ]);
    unwritten.writtenTo(9n);
    expect(unwritten.size()).toEqual({ events: 0, bytes: 0 });
  });
});
