import { describe, expect, it } from 'vitest';
import { streamSample } from '../../../projections/runtime/stream-sample.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { streamName } from '../../../services/kernel/stream.js';

describe('a sample of streams', () => {
  /** An event that takes 1,100 bytes: 400 of data, 100 of metadata and 600 of overhead. */
  const event = (stream: number, revision = 0): RecordedEvent => ({
    stream: streamName('tally', [String(stream)]),
    revision: BigInt(revision),
    position: 1n,
    id: new Uint8Array(16),
    type: 'Counted',
    data: new Uint8Array(400),
    metadata: 'm'.repeat(100),
  });

  it('has all of few, and some of many', () => {
    const sampled = (maxStreams: number, streams: number) => {
      const sample = streamSample({ streams: maxStreams, bytes: 4_400 });
      for (let stream = 0; stream < streams; stream += 1) sample.add(event(stream));
      return sample.streams();
    };
    expect(sampled(10, 10)).toHaveLength(10);
    const some = sampled(10, 1_000);
    expect(some.length).toBeGreaterThan(4);
    expect(some.length).toBeLessThanOrEqual(10);
    expect(new Set(some.map(({ stream }) => stream)).size).toBe(some.length);
    // The memory of streams that have left the sample is free again.
    expect(some.filter(({ events }) => events?.length === 1)).not.toHaveLength(0);
  });

  it('has the events of streams that are short and complete, and leaves out a stream without its first event', () => {
    const sample = streamSample({ streams: 10, bytes: 4_000 });
    sample.add(event(1));
    for (let revision = 0; revision < 10; revision += 1) sample.add(event(2, revision));
    for (const revision of [0, 2]) sample.add(event(3, revision));
    sample.add(event(4, 5));
    for (const revision of [1, 2]) sample.add(event(1, revision));
    expect(sample.streams().map(({ events }) => events?.map(({ revision }) => revision))).toEqual([
      [0n, 1n, 2n],
      undefined,
      undefined,
    ]);
  });

  it('holds the events of as many streams as fit, and gives up those of the longest until a quarter is free', () => {
    /** The number of events that are held of each stream; `undefined` where they were given up. */
    const heldLengths = (bytes: number, lengths: readonly number[]) => {
      const sample = streamSample({ streams: 10, bytes });
      for (const [at, length] of lengths.entries())
        for (let revision = 0; revision < length; revision += 1) sample.add(event(at, revision));
      return sample.streams().map(({ events }) => events?.length);
    };
    expect(heldLengths(6_600, [1, 3, 2])).toEqual([1, 3, 2]);
    expect(heldLengths(6_599, [1, 3, 2])).toEqual([1, undefined, 2]);
    expect(heldLengths(8_799, [2, 2, 3, 1])).toEqual([2, 2, undefined, 1]);
    expect(heldLengths(4_400, [1, 1, 1, 1, 1])).toEqual([undefined, undefined, 1, 1, 1]);
    expect(heldLengths(0, [1, 2])).toEqual([undefined, undefined]);
  });

  it('is freed of the events of a stream that leaves it', () => {
    const sample = streamSample({ streams: 2, bytes: 3 * 1_100 });
    for (let stream = 0; stream < 3; stream += 1) sample.add(event(stream));
    expect(sample.streams().map(({ stream }) => stream)).toEqual(['tally-0', 'tally-2']);
    sample.add(event(0, 1));
    expect(sample.streams().map(({ events }) => events?.length)).toEqual([2, 1]);
    // Every second stream from here on.
    sample.add(event(3));
    expect(sample.streams().map(({ stream }) => stream)).toEqual(['tally-0', 'tally-2']);
    sample.add(event(4));
    expect(sample.streams().map(({ stream }) => stream)).toEqual(['tally-0', 'tally-4']);
  });

  it('has copies of the bytes of events, whose memory is used again', () => {
    const sample = streamSample({ streams: 10, bytes: 4_000 });
    const reused = { ...event(1), id: new Uint8Array(16).fill(7), data: new Uint8Array([1, 2, 3]) };
    sample.add(reused);
    reused.id.fill(0);
    reused.data.fill(0);
    const [kept] = sample.streams()[0]!.events!;
    expect([[...kept!.id], [...kept!.data]]).toEqual([Array(16).fill(7), [1, 2, 3]]);
    expect(kept!.data.buffer.byteLength).toBe(16 + 3); // the id and the data, and nothing else
  });
});
