import { describe, expect, it } from 'vitest';

import { WatchResponse_Kind as Kind } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { SentAnswer } from '../../../projections/execution-watch/thread-messages.js';
import { openTopics, type Watcher } from '../../../projections/execution-watch/topics.js';

/** A change of an execution; `bytes` is the size of its message. */
const change = (position: number, bytes = 0): SentAnswer => ({
  kind: Kind.CHANGE,
  position: BigInt(position),
  data: new Uint8Array(bytes),
});

/** The positions of all answers that the watcher has not taken yet. */
const taken = (watcher: Watcher): readonly number[] => {
  const positions: number[] = [];
  for (let next = watcher.next(); next; next = watcher.next()) positions.push(Number(next.position));
  return positions;
};

describe('the answers of a topic', () => {
  it('come to each watcher once and in order, from when it joined', () => {
    const topics = openTopics(10_000);
    const early = topics.join('a');
    topics.publish('a', [change(1), change(2)]);
    const late = topics.join('a');
    topics.publish('a', [change(3)]);
    topics.publish('b', [change(4)]);
    expect([taken(early), taken(late), taken(early)]).toEqual([[1, 2, 3], [3], []]);
  });

  it('wake a watcher that waits', async () => {
    const topics = openTopics(10_000);
    const watcher = topics.join('a');
    expect(await watcher.changed(1)).toBe(false);
    const waiting = watcher.changed(60_000);
    topics.publish('a', [change(1)]);
    expect(await waiting).toBe(true);
  });

  it('are no longer given to a watcher that is too far behind, and are to the others', () => {
    const topics = openTopics(10_000);
    const [stalled, reading] = [topics.join('a'), topics.join('a')];
    for (let position = 1; position <= 5; position += 1) {
      topics.publish('a', [change(position, 4_000)]);
      expect(taken(reading)).toEqual([position]);
    }
    expect(() => stalled.next()).toThrow('dropped, because more than 10000 bytes of changes were not read');
  });

  it('that are published together reach a watcher, although they exceed its limit together', () => {
    const topics = openTopics(10_000);
    const watcher = topics.join('a');
    topics.publish('a', [change(1, 9_000), change(1, 9_000)]);
    expect(taken(watcher)).toEqual([1, 1]);
  });

  it('end with the error of the topic', async () => {
    const topics = openTopics(10_000);
    const watcher = topics.join('a');
    const waiting = watcher.changed(60_000);
    topics.failAll(new Error('shutting down'));
    expect(await waiting).toBe(true);
    expect(() => watcher.next()).toThrow('shutting down');
  });
});
