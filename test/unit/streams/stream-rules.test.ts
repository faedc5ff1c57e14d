import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import {
  metadataStreamOf,
  openStreamRules,
  STREAM_METADATA,
  type StreamRulesTable,
  TOMBSTONE,
} from '../../../services/streams/eventstore/stream-rules.js';

let directory: string;
let store: EventStore;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-stream-rules-'));
  store = await sqliteEventStore({ directory });
});
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const event = (type: string, data = ''): NewEvent => ({
  id: randomBytes(16),
  type,
  data: Buffer.from(data),
  metadata: '{}',
});

/** Appends an event, and then gives it to the tables, as the server does. */
const record = async (name: string, recorded: NewEvent, tables: readonly StreamRulesTable[]): Promise<void> => {
  const stream = name as StreamName;
  await store.append(stream, 'any', [recorded]);
  for (const table of tables) table.apply({ ...recorded, stream });
};

/** Records new metadata of a stream. */
const recordMetadata = (stream: string, metadata: unknown, tables: readonly StreamRulesTable[]): Promise<void> =>
  record(metadataStreamOf(stream), event(STREAM_METADATA, JSON.stringify(metadata)), tables);

/** The log, and the number of reads of streams that it has answered. */
const counted = () => {
  const reads = { count: 0 };
  const readStream: EventStore['readStream'] = (...asked) => {
    reads.count += 1;
    return store.readStream(...asked);
  };
  return { log: { ...store, readStream }, reads };
};

/** Memory for the rules of three streams with short names, in bytes. */
const THREE_STREAMS = 750;

let runs = 0;
/** Names of streams that no other test or run uses. */
const streamsOfRun = (count: number): readonly string[] => {
  runs += 1;
  return Array.from({ length: count }, (_, at) => `ruled-${runs}:${at}`);
};

describe('the rules of streams', () => {
  it('cost no read while all of them are in memory, whether a stream has rules or not', async () => {
    const [ruled, plain] = streamsOfRun(2) as [string, string];
    await recordMetadata(ruled, { $maxCount: 3 }, []);
    const { log, reads } = counted();
    const rules = await openStreamRules(log);
    expect(await rules.of(ruled)).toMatchObject({ maxCount: 3 });
    expect(await rules.of(plain)).toMatchObject({ maxCount: undefined, isTombstoned: false });
    expect(reads.count).toBe(0);
  });

  it('are read again once they were evicted, and then kept', async () => {
    const streams = streamsOfRun(10);
    const { log, reads } = counted();
    const rules = await openStreamRules(log, { maxBytes: THREE_STREAMS, isRuled: (name) => streams.includes(name) });
    for (const [at, stream] of streams.entries()) await recordMetadata(stream, { $tb: at + 1 }, [rules]);
    await record(streams[0]!, event(TOMBSTONE), [rules]);
    expect(await rules.of(streams[0]!)).toMatchObject({ truncateBefore: 1n, isTombstoned: true });
    expect(reads.count).toBe(2); // of the stream, and of its metadata stream
    expect(await rules.of(streams[0]!)).toMatchObject({ truncateBefore: 1n, isTombstoned: true });
    expect(reads.count).toBe(2);
  });

  it('follow an event that is recorded while they are read', async () => {
    const streams = streamsOfRun(10);
    const rules = await openStreamRules(store, { maxBytes: THREE_STREAMS, isRuled: (name) => streams.includes(name) });
    for (const stream of streams) await recordMetadata(stream, { $tb: 1 }, [rules]);
    const before = rules.of(streams[0]!);
    const metadata = event(STREAM_METADATA, JSON.stringify({ $tb: 2 }));
    const stream = metadataStreamOf(streams[0]!) as StreamName;
    await store.append(stream, 'any', [metadata]);
    rules.apply({ ...metadata, stream });
    await before;
    expect(await rules.of(streams[0]!)).toMatchObject({ truncateBefore: 2n });
  });

  it('do not have a maximum count or age that is not above 0, as in EventStoreDB', async () => {
    const [stream] = streamsOfRun(1) as [string];
    const rules = await openStreamRules(store);
    for (const limit of [0, -1]) {
      await recordMetadata(stream, { $maxCount: limit, $maxAge: limit, $tb: 2 }, [rules]);
      expect(await rules.of(stream)).toEqual({
        ...{ truncateBefore: 2n, isTombstoned: false },
        ...{ maxCount: undefined, maxAgeMs: undefined },
      });
    }
  });

  it('show the last event of a metadata stream alone, which is deleted together with its stream', async () => {
    const streams = streamsOfRun(10);
    const names = streams.flatMap((name) => [name, metadataStreamOf(name)]);
    const rules = await openStreamRules(store, { maxBytes: THREE_STREAMS, isRuled: (name) => names.includes(name) });
    for (const stream of streams) await recordMetadata(stream, { $tb: 3, $maxAge: 60 }, [rules]);
    const [stream] = streams as [string];
    const ofMetadata = { truncateBefore: 0n, maxCount: 1, maxAgeMs: undefined };
    expect(await rules.of(metadataStreamOf(stream))).toEqual({ ...ofMetadata, isTombstoned: false });
    await record(stream, event(TOMBSTONE), [rules]);
    expect(await rules.of(metadataStreamOf(stream))).toEqual({ ...ofMetadata, isTombstoned: true });
  });

  it('say that a metadata stream is deleted which was deleted permanently by itself', async () => {
    const streams = streamsOfRun(10);
    const rules = await openStreamRules(store, { maxBytes: THREE_STREAMS });
    for (const stream of streams) await record(metadataStreamOf(stream), event(TOMBSTONE), [rules]);
    for (const stream of streams) {
      expect(await rules.of(metadataStreamOf(stream))).toMatchObject({ isTombstoned: true });
      expect(await rules.of(stream)).toMatchObject({ isTombstoned: false });
    }
  });

  const at = fc.nat({ max: 7 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('metadata' as const), at, tb: fc.nat({ max: 9 }) }),
    fc.record({ kind: fc.constant('other' as const), at }),
    fc.record({ kind: fc.constant('tombstone' as const), at }),
    fc.record({ kind: fc.constant('start' as const), at }),
    fc.record({ kind: fc.constant('asked' as const), at }),
  );

  it('are the same in bounded memory as with all of them in memory', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const streams = streamsOfRun(8);
        const isRuled = (name: string): boolean => streams.includes(name);
        const whole = await openStreamRules(store, { isRuled, maxBytes: Infinity });
        let bounded = await openStreamRules(store, { isRuled, maxBytes: THREE_STREAMS });
        for (const each of steps) {
          const stream = streams[each.at]!;
          const tables = [whole, bounded];
          if (each.kind === 'metadata') await recordMetadata(stream, { $tb: each.tb, $maxAge: each.tb }, tables);
          if (each.kind === 'other') await record(metadataStreamOf(stream), event('other'), tables);
          if (each.kind === 'tombstone') await record(stream, event(TOMBSTONE), tables);
          if (each.kind === 'start') bounded = await openStreamRules(store, { isRuled, maxBytes: THREE_STREAMS });
          if (each.kind === 'asked') expect(await bounded.of(stream)).toEqual(await whole.of(stream));
        }
        for (const stream of streams) expect(await bounded.of(stream)).toEqual(await whole.of(stream));
      }),
      { numRuns: 30 },
    );
  });
});
