import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { documentCache } from '../../../projections/runtime/document-cache.js';
import { runPartitions } from '../../../projections/runtime/runs/partition-run.js';
import { viewPartitionOf, PARTITIONS } from '../../../projections/runtime/partitions.js';
import { projector, type ProjectorOptions } from '../../../projections/runtime/projector.js';
import type { ReadStore, WriteBatch } from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { until } from '../../support/until.js';
import { counts, noPayloads, recorded, tallies, tallyCodec } from './tallies.js';

/** A store that records its calls. */
type Counted = ReadStore & { readonly batches: WriteBatch[]; readonly keysRead: string[] };

/** Wraps a store so that it records its calls. */
const counting = (store: ReadStore): Counted => {
  const [batches, keysRead]: [WriteBatch[], string[]] = [[], []];
  return {
    ...store,
    batches,
    keysRead,
    getMany: (collection, keys) => {
      keysRead.push(...keys);
      return store.getMany(collection, keys);
    },
    write: (batch) => {
      batches.push(batch);
      return store.write(batch);
    },
  };
};

let store: Counted;
beforeEach(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-savings-'));
  store = counting(sqliteReadStore({ directory, mode: 'read-write' }));
  await store.prepare([tallies.collection, counts.collection]);
});
afterEach(() => store.close());

const sources = { codecs: new Map([['tally', tallyCodec]]), payloads: noPayloads, models: [tallies, counts] };
const start = (more: Partial<ProjectorOptions> = {}) =>
  projector({ ...sources, readStore: store, logId: 'log', onPoison: 'park', ...more });

/** Makes `count` events, divided evenly among the streams s0, s1 and so on. */
const many = (count: number, streams = 1): RecordedEvent[] =>
  recorded(Array.from({ length: count }, (_, at) => ({ stream: `s${at % streams}` })));

/** A log that gives one event a page, as a log does while other processes append to it. */
const pageByPage = (events: readonly RecordedEvent[]): EventLog =>
  ({
    logId: 'log',
    head: () => Promise.resolve(BigInt(events.length)),
    subscribe: (_: unknown, onPage: Parameters<EventLog['subscribe']>[1]) => {
      const ended = (async () => {
        for (const [at, event] of events.entries())
          await onPage({ events: [event], position: event.position, hasNext: at < events.length - 1 }, false);
      })();
      return { ended, close: () => ended };
    },
  }) as Partial<EventLog> as EventLog;

/** Runs the projections until they have all events. */
const follow = async (events: readonly RecordedEvent[], partitions = PARTITIONS): Promise<void> => {
  let position = 0n;
  const run = await runPartitions(
    {
      ...sources,
      log: pageByPage(events),
      readStore: store,
      now: () => 0,
      onProgress: (progress) => (position = progress.position),
      serially: (work) => work(),
      isClosed: () => false,
    },
    partitions,
  );
  await until(
    () => Promise.resolve(position),
    (each) => each >= BigInt(events.length),
  );
  await run.close();
};

describe('a projector saves work:', () => {
  it('a document that many events touch is read and written once for all of them', async () => {
    await (await start()).take(many(500), 500n);
    expect(store.batches.map(({ documents }) => documents.length)).toEqual([2]);
    expect(store.keysRead).toHaveLength(2);
  });

  it('documents are dropped once they are written when the cache has 0 bytes', async () => {
    const target = await start({ cacheBytes: 0 });
    for (const event of many(3)) await target.take([event], event.position);
    expect(store.keysRead).toHaveLength(6);
  });

  it('a document that was touched lately is not read again', async () => {
    const target = await start();
    const events = many(30, 3);
    for (const event of events) await target.take([event], event.position);
    expect(store.batches).toHaveLength(30);
    expect(store.keysRead).toHaveLength(6);
  });

  it('a write over a document in the cache has the version before it, without a read', async () => {
    const target = await start();
    for (const event of many(3)) await target.take([event], event.position);
    const known = store.batches.map(({ documents }) => documents.map(({ before }) => before));
    expect(known[0]).toEqual(['nothing', 'nothing']);
    expect(known[2]!.map((before) => before !== 'nothing' && before?.position)).toEqual([2n, 2n]);
    expect(store.keysRead).toHaveLength(2); // for the first event
  });

  it('pages at hand are written together: one write for 4,000 changed documents, not one for each page', async () => {
    await follow(many(2_500, 2_500));
    expect(store.batches.map(({ documents }) => documents.length)).toEqual([4_000, 1_000]);
  });

  it('events of partitions that other processes have are not decoded', async () => {
    const events = many(400, 40);
    const own = events.filter(({ stream }) => viewPartitionOf(stream) === 0);
    tallyCodec.decoded = 0;
    await follow(events, [0]);
    expect(own.length).toBeGreaterThan(0);
    expect(own.length).toBeLessThan(200);
    expect(tallyCodec.decoded).toBe(own.length);
  });
});

describe('the documents in the cache', () => {
  /** A cache that has loaded these documents one after another, each with a response of 1,000 bytes. */
  const load = async (maxBytes: number, keys: readonly string[]) => {
    const cache = documentCache(store, maxBytes);
    for (const key of keys) {
      await cache.load(tallies, [key]);
      cache.stored(cache.entry(tallies, key), { fields: {}, response: Buffer.alloc(1_000) });
      cache.trim();
    }
    store.keysRead.length = 0;
    return cache;
  };
  const names = Array.from({ length: 100 }, (_, at) => `t${at}`);

  it('are as many as fit with their stored size and an overhead for each', async () => {
    const cache = await load(16_000, names);
    await cache.load(tallies, names);
    expect(names.length - store.keysRead.length).toBe(10);
  });

  it('are counted with all their stored parts', async () => {
    const target = await start();
    await target.take(many(1), 1n);
    const stored = {
      ...store,
      getMany: async (...given: Parameters<ReadStore['getMany']>) =>
        (await store.getMany(...given)).map((each) => ({
          ...each,
          response: Buffer.alloc(100),
          listElement: Buffer.alloc(100),
          foldState: Buffer.concat([each.foldState!, Buffer.alloc(100, ' ')]),
        })),
    };
    const readsAgain = async (maxBytes: number): Promise<boolean> => {
      const cache = documentCache(stored, maxBytes);
      await cache.load(tallies, ['tally-s0/a']);
      cache.trim();
      store.keysRead.length = 0;
      await cache.load(tallies, ['tally-s0/a']);
      return store.keysRead.length > 0;
    };
    expect([await readsAgain(890), await readsAgain(1_000)]).toEqual([true, false]);
  });

  it('are those that were touched last', async () => {
    const cache = await load(16_000, [...names, 't3']);
    await cache.load(tallies, names);
    const kept = names.filter((name) => !store.keysRead.includes(name));
    expect(kept).toEqual(['t3', ...names.slice(-9)]);
  });

  it('evict others as they grow, and are counted at their last size', async () => {
    const cache = await load(16_000, names.slice(0, 8));
    cache.stored(cache.entry(tallies, 't7'), { fields: {}, response: Buffer.alloc(9_000) });
    cache.trim();
    cache.stored(cache.entry(tallies, 't7'), { fields: {}, response: Buffer.alloc(1_000) });
    cache.trim();
    await cache.load(tallies, names.slice(0, 8));
    expect(store.keysRead).toEqual(['t0', 't1', 't2']);
  });

  it('are none after `clear`', async () => {
    const cache = await load(16_000, names);
    cache.clear();
    await cache.load(tallies, ['t99']);
    expect(store.keysRead).toEqual(['t99']);
  });
});
