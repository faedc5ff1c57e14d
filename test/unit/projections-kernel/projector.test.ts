import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Projector, projector, type ProjectorOptions } from '../../../projections/runtime/projector.js';
import { emptyEntryBatch, ENTRY_BATCH_LIMITS, narrowed } from '../../../projections/runtime/entry-batch.js';
import type { Entry } from '../../../projections/runtime/event-reader.js';
import { viewPartitionOf } from '../../../projections/runtime/partitions.js';
import type { ReadModel, SeenEvent } from '../../../projections/runtime/read-model.js';
import type { ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { CheckpointMoved, StoreUnavailable } from '../../../services/kernel/fault.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { counts, noPayloads, recorded, tallies, tallyCodec, totals, type Written } from './tallies.js';

/** Opens an empty store; `beforeCommit` is called before each commit of a batch, and makes it fail by throwing. */
const newStore = async (beforeCommit: () => void = () => undefined): Promise<ReadStore> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-projector-'));
  const store = sqliteReadStore({ directory, mode: 'read-write', beforeCommit });
  await store.prepare([tallies.collection, counts.collection, totals.collection]);
  return store;
};

/** Starts a projector of all three models. */
const start = (readStore: ReadStore, more: Partial<ProjectorOptions> = {}): Promise<Projector> =>
  projector({
    readStore,
    logId: 'log',
    codecs: new Map([['tally', tallyCodec]]),
    payloads: noPayloads,
    models: [tallies, counts, totals],
    onPoison: 'park',
    ...more,
  });

/** The documents of tallies, and of the counts of their streams, by key. */
const views = async (store: ReadStore) => {
  const query = { where: [], orderBy: { field: 'sum', direction: 'ascending' }, limit: 1e6 } as const;
  const { elements } = await store.find(tallies.collection, query);
  const keys = elements.map((element) => Buffer.from(element).toString().split(' ')[0]!);
  const [tallyDocuments, countDocuments] = await Promise.all([
    store.getMany(tallies.collection, keys),
    store.getMany(counts.collection, [...new Set(keys.map((key) => key.split('/')[0]!))]),
  ]);
  return [...tallyDocuments, ...countDocuments].toSorted((a, b) => (a.key < b.key ? -1 : 1));
};

/** The documents of totals, by key, each of which several streams feed. */
const shared = async (store: ReadStore) => {
  const found = await store.getMany(
    totals.collection,
    ['a', 'b', 'c', 'd', 'e'].map((part) => `total/${part}`),
  );
  return found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
};

/** Projects one event at a time, without a cache: the result that every other way must have. */
const oneByOne = async (events: readonly RecordedEvent[]) => {
  const store = await newStore();
  for (const event of events) await (await start(store, { cacheBytes: 0 })).take([event], event.position);
  const seen = [...(await views(store)), ...(await shared(store))];
  await store.close();
  return seen;
};

const textOf = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();

/** A document with its bytes as texts, so that a difference can be read. */
const shown = ({ key, position, fields, response, foldState }: StoredDocument) =>
  [key, position, fields, textOf(response), textOf(foldState)] as const;

/** Projects events to documents in memory, without a store. */
const inMemory = (events: readonly RecordedEvent[]) =>
  [tallies, counts, totals].flatMap((model: ReadModel<unknown>) => {
    const documents = new Map<string, { document: unknown; position: bigint }>();
    for (const { type, data, stream, revision, position } of events) {
      const seen = { type, body: tallyCodec.decode('Added', data, 1), stream, revision, position };
      const event = seen as unknown as SeenEvent; // the models of these tests look at no metadata
      for (const key of model.touches(event))
        documents.set(key, { document: model.fold(documents.get(key)?.document, event, key), position });
    }
    const keys = [...documents.keys()].toSorted();
    return keys.map((key) => {
      const { document, position } = documents.get(key)!;
      return shown({ key, position, ...model.encode(key, document) });
    });
  });

/** The documents of a store with these keys, as far as they exist. */
const inStore = async (store: ReadStore, keys: readonly string[]) => {
  const found = [tallies, counts, totals].map(async ({ collection }) => {
    const stored = await store.getMany(collection, keys);
    return stored.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(shown);
  });
  return (await Promise.all(found)).flat();
};

const writes = fc.array(
  fc.record({
    stream: fc.constantFrom('s1', 's2', 's3'),
    type: fc.constantFrom('Added', 'Added', 'Added', 'Ignored'),
    amount: fc.integer({ min: -5, max: 5 }),
    parts: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 5 }),
  }),
  { maxLength: 40 },
);

/** Cuts items into pieces of these sizes, which are taken again from the first after the last. */
const cut = <Item>(items: readonly Item[], sizes: readonly number[]): Item[][] => {
  const pieces: Item[][] = [];
  for (let start = 0; start < items.length;) {
    const size = sizes[pieces.length % sizes.length] ?? 1;
    pieces.push(items.slice(start, start + size));
    start += size;
  }
  return pieces;
};

describe('a projector', () => {
  it('comes to the same documents however its events are divided among calls and writes', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 5 });
    const limits = fc.record({
      events: fc.integer({ min: 1, max: 10 }),
      documents: fc.integer({ min: 1, max: 6 }),
      bytes: fc.constantFrom(1, 500, 100_000),
    });
    const property = fc.asyncProperty(
      writes,
      sizes,
      limits,
      fc.constantFrom(0, 1_000, 1e6),
      async (written, ...how) => {
        const [pieces, within, cacheBytes] = how;
        const events = recorded(written);
        const store = await newStore();
        const target = await start(store, { limits: within, cacheBytes });
        for (const batch of cut(events, pieces)) await target.take(batch, batch.at(-1)!.position);
        expect([...(await views(store)), ...(await shared(store))]).toEqual(await oneByOne(events));
        expect(target.position()).toBe(BigInt(events.length));
        await store.close();
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });

  it('comes to the same documents however much it gathers before it writes', async () => {
    const gathers = fc.record({
      events: fc.integer({ min: 1, max: 20 }),
      documents: fc.integer({ min: 1, max: 8 }),
      bytes: fc.constantFrom(300, 1e6),
    });
    const limits = { events: 5, documents: 4, bytes: 1e6 };
    const property = fc.asyncProperty(writes, gathers, fc.constantFrom(0, 1_000), async (written, much, cacheBytes) => {
      const events = recorded(written);
      const store = await newStore();
      const target = await start(store, { onPoison: 'stop', gathers: much, limits, cacheBytes });
      for (const batch of cut(events, [7])) await target.take(batch, batch.at(-1)!.position, true);
      expect(await target.take([], BigInt(events.length))).toBe(true);
      expect([...(await views(store)), ...(await shared(store))]).toEqual(await oneByOne(events));
      expect(target.position()).toBe(BigInt(events.length));
      await store.close();
    });
    await fc.assert(property, { numRuns: 40 });
  });

  it('writes nothing below its limits while more events follow, and what it has gathered when none do', async () => {
    const store = await newStore();
    const target = await start(store, { gathers: { events: 9, documents: 5, bytes: 1e6 } });
    expect(await target.take(recorded([{ stream: 's' }, { stream: 's' }]), 2n, true)).toBe(false);
    expect([await views(store), target.position()]).toEqual([[], 0n]);
    expect(await target.take([], 2n)).toBe(true);
    expect((await views(store)).map(({ position }) => position)).toEqual([2n, 2n]);
  });

  it('writes once it has gathered as many documents as its limit', async () => {
    const gathers = { events: 9, documents: 2, bytes: 1e6 };
    const target = await start(await newStore(), { models: [tallies, counts], gathers });
    expect(await target.take(recorded([{ stream: 's' }]), 1n, true)).toBe(true);
  });

  it('keeps written documents only within its cache, and writes nothing where nothing is gathered', async () => {
    const store = await newStore();
    const steps: string[] = [];
    const counted: ReadStore = {
      ...store,
      getMany: (collection, keys) => (steps.push(`read ${collection.name}`), store.getMany(collection, keys)),
      write: (batch) => (steps.push('write'), store.write(batch)),
    };
    const events = recorded([{ stream: 's' }, { stream: 's' }]);
    const stepsOf = async (cacheBytes: number | undefined) => {
      await store.clear();
      const target = await start(counted, { models: [counts], ...(cacheBytes !== undefined && { cacheBytes }) });
      await target.flush();
      for (const event of events) await target.take([event], event.position);
      await target.flush();
      return steps.splice(0);
    };
    expect(await stepsOf(undefined)).toEqual(['read counts', 'write', 'write']);
    expect(await stepsOf(1)).toEqual(['read counts', 'write', 'read counts', 'write']);
  });

  it('counts only the events that its models follow toward the number of events that it gathers', async () => {
    const store = await newStore();
    const others = recorded([{ stream: 'o' }, { stream: 'o' }, { stream: 'o' }]);
    const events = others.map((event) => ({ ...event, stream: streamName('other', ['o']) }));
    const target = await start(store, { gathers: { events: 2, documents: 100, bytes: 1e6 } });
    expect(await target.take(events, 3n, true)).toBe(false);
    const followed = recorded(Array.from({ length: 5 }, () => ({ stream: 's' }))).slice(3);
    expect(await target.take(followed.slice(0, 1), 4n, true)).toBe(false);
    expect(await target.take(followed.slice(1), 5n, true)).toBe(true);
  });

  it('folds what it has gathered again after a failed write, and writes it once', async () => {
    const events = recorded([{ stream: 's', amount: 2 }, { stream: 't' }, { stream: 's', parts: ['a', 'b'] }]);
    for (const isRepeated of [true, false]) {
      let isFull = true;
      const store = await newStore(() => {
        if (isFull) throw new StoreUnavailable('disk is full');
      });
      const target = await start(store);
      await target.take(events.slice(0, 2), 2n, true);
      await expect(target.take(events.slice(2), 3n)).rejects.toThrow('disk is full');
      isFull = false;
      expect(await target.take(isRepeated ? events.slice(2) : [], 3n)).toBe(true);
      expect([...(await views(store)), ...(await shared(store))]).toEqual(await oneByOne(events));
      await store.close();
    }
  });

  it('folds an event once that it has gathered and that comes again with its page', async () => {
    const events = recorded([{ stream: 's', amount: 2 }, { stream: 't' }, { stream: 's', amount: 4 }]);
    const store = await newStore();
    const target = await start(store);
    await target.take(events.slice(0, 2), 2n, true);
    await target.take(events, 3n);
    expect([...(await views(store)), ...(await shared(store))]).toEqual(await oneByOne(events));
  });

  it('changes no document that one stream feeds when it sees events again', async () => {
    const events = recorded([{ stream: 's', amount: 2 }, { stream: 't' }, { stream: 's', parts: ['a', 'b'] }]);
    const store = await newStore();
    const target = await start(store);
    await target.take(events, 3n);
    const before = await views(store);
    await target.take(events, 3n);
    await (await start(store)).take(events.slice(1), 3n);
    expect(await views(store)).toEqual(before);
  });

  it('writes what a stop in the middle of an event left out, and nothing twice', async () => {
    const parts = ['a', 'b', 'c', 'd', 'e', ...Array.from({ length: 20 }, (_, i) => `p${i}`)];
    const events = recorded([{ stream: 's', parts, amount: 1 }, { stream: 's', parts, amount: 10 }, { stream: 't' }]);
    const expected = await oneByOne(events);
    const limits = { ...ENTRY_BATCH_LIMITS, documents: 4 };
    for (let stopAt = 1; stopAt <= 16; stopAt += 1) {
      let commits = 0;
      const store = await newStore(() => {
        commits += 1;
        if (commits === stopAt) throw new StoreUnavailable('stopped');
      });
      await expect((await start(store, { limits })).take(events, 3n)).rejects.toThrow('stopped');
      const again = await start(store, { limits });
      expect(again.position()).toBeLessThan(3n);
      await again.take(
        events.filter(({ position }) => position > again.position()),
        3n,
      );
      expect([...(await views(store)), ...(await shared(store))]).toEqual(expected);
      await store.close();
    }
  });

  it('writes once the events that it has gathered have as many bytes as its limit', async () => {
    const store = await newStore();
    const events = recorded([{ stream: 's' }, { stream: 's' }, { stream: 's' }]);
    const bytes = events[0]!.data.length * 2;
    const target = await start(store, { gathers: { events: 100, documents: 100, bytes } });
    const positions: bigint[] = [];
    for (const event of events) {
      await target.take([event], event.position, true);
      positions.push(target.position());
    }
    expect(positions).toEqual([0n, 2n, 2n]);
  });

  it('writes once events that no model follows have as many bytes as its limit', async () => {
    const others = recorded([{ stream: 'o' }, { stream: 'o' }, { stream: 'o' }]);
    const events = others.map((event) => ({ ...event, stream: streamName('other', ['o']) }));
    const bytes = events[0]!.data.length * 2;
    const target = await start(await newStore(), { gathers: { events: 100, documents: 100, bytes } });
    const isWritten: boolean[] = [];
    for (const event of events) isWritten.push(await target.take([event], event.position, true));
    expect(isWritten).toEqual([false, true, false]);
  });

  it('writes the documents that it has gathered in one batch with those that reach the limit', async () => {
    const store = await newStore();
    const written: number[] = [];
    const watched = {
      ...store,
      write: (batch: Parameters<ReadStore['write']>[0]) => {
        written.push(batch.documents.length);
        return store.write(batch);
      },
    };
    const limits = { ...ENTRY_BATCH_LIMITS, documents: 4 };
    const target = await start(watched, {
      models: [tallies],
      limits,
      gathers: { ...ENTRY_BATCH_LIMITS, documents: 4 },
    });
    const events = recorded([
      { stream: 's', parts: ['a', 'b', 'c'] },
      { stream: 't', parts: ['a', 'b', 'c', 'd'] },
    ]);
    expect(await target.take(events, 2n, true)).toBe(true);
    expect(written).toEqual([7]);
  });

  it('marks a document as late when another stream has set a higher position', async () => {
    const store = await newStore();
    const late: (readonly [string, boolean | undefined])[] = [];
    const watched = {
      ...store,
      write: (batch: Parameters<ReadStore['write']>[0]) => {
        for (const { document, isLate } of batch.documents) late.push([document.key, isLate]);
        return store.write(batch);
      },
    };
    const events = recorded([{ stream: 's', type: 'FromTheFuture' }, { stream: 't' }, { stream: 't' }]);
    const target = await start(watched, { models: [totals] });
    await target.take(events.slice(0, 2), 2n);
    await target.take(events.slice(2), 3n);
    const next = await start(watched, { ...upgraded, models: [{ ...totals, follows: ['Added', 'FromTheFuture'] }] });
    await next.resume(streamName('tally', ['s']), pagesOf(events, streamName('tally', ['s'])));
    expect(late).toEqual([
      ['total/a', undefined],
      ['total/a', undefined],
      ['total/a', true],
    ]);
  });

  it('writes no document in a view whose fold gives none', async () => {
    const store = await newStore();
    const noCounts: typeof counts = { ...counts, fold: () => undefined };
    const target = await start(store, { models: [noCounts, tallies] });
    await target.take(recorded([{ stream: 's' }]), 1n);
    expect((await views(store)).map(({ key }) => key)).toEqual(['tally-s/a']);
    expect(await store.parked()).toEqual([]);
  });

  it('wants of each partition the events above its checkpoint', async () => {
    const store = await newStore();
    const events = recorded(Array.from({ length: 40 }, (_, at) => ({ stream: `s${at}` })));
    const half = await start(store, { partitions: [0, 1, 2, 3] });
    const isOfHalf = ({ stream }: RecordedEvent): boolean => viewPartitionOf(stream) < 4;
    const wanted = (target: Projector) => events.filter((event) => target.wants(event));
    expect(wanted(half)).toEqual(events.filter(isOfHalf));
    const taken = wanted(half).slice(0, 10);
    const end = taken.at(-1)!.position;
    await half.take(taken, end);
    expect(wanted(half)).toEqual(events.filter((event) => isOfHalf(event) && event.position > end));
    const whole = await start(store);
    const missing = events.filter((event) => !isOfHalf(event) || event.position > end);
    expect(missing.length).toBeLessThan(40);
    expect(wanted(whole)).toEqual(missing);
    await whole.take(missing, 40n);
    expect(whole.position()).toBe(40n);
  });

  it('moves the checkpoint past a wide event only with its last document', async () => {
    const positions: (bigint | undefined)[] = [];
    const store = await newStore();
    const watched = {
      ...store,
      write: (batch: Parameters<ReadStore['write']>[0]) => {
        positions.push(...new Set(batch.checkpoints.map(({ to }) => to?.position)));
        expect(batch.documents.length).toBeLessThanOrEqual(4);
        return store.write(batch);
      },
    };
    const target = await start(watched, { limits: { ...ENTRY_BATCH_LIMITS, documents: 4 }, models: [tallies] });
    await target.take(recorded([{ stream: 's', parts: Array.from({ length: 10 }, (_, i) => `p${i}`) }]), 5n);
    expect(positions).toEqual([0n, 0n, 5n]);
  });

  it('writes nothing when another projector has moved the checkpoint', async () => {
    const events = recorded([{ stream: 's' }, { stream: 's' }]);
    const store = await newStore();
    const [first, second] = [await start(store), await start(store)];
    await first.take(events, 2n);
    const before = await views(store);
    await expect(second.take(events, 2n)).rejects.toBeInstanceOf(CheckpointMoved);
    expect(await views(store)).toEqual(before);
  });

  it('decodes an event once, and of those that no model follows only the first of each type', async () => {
    const store = await newStore();
    const target = await start(store);
    tallyCodec.decoded = 0;
    const ignored = Array.from({ length: 6 }, (_, at): Written => ({ stream: 's', type: `Ignored${at % 2}` }));
    await target.take(recorded([...ignored, { stream: 's' }, { stream: 's' }]), 8n);
    expect(tallyCodec.decoded).toBe(4);
  });

  it('skips events of streams that no codec reads', async () => {
    const store = await newStore();
    const target = await start(store, { codecs: new Map() });
    await target.take(recorded([{ stream: 's' }]), 1n);
    expect([target.position(), await views(store), await store.parked()]).toEqual([1n, [], []]);
  });

  it('loads a content that is stored beside the event', async () => {
    const store = await newStore();
    const value = { scope: 'runs/p', sha256: 'abc', sizeBytes: 5n, keyId: '' };
    const codec = {
      ...tallyCodec,
      decode: () => ({ parts: ['a'], amount: 1, note: { content: { case: 'ref', value } as const } }),
    };
    const payloads = { ...noPayloads, get: () => Promise.resolve(Buffer.from('large')) };
    const target = await start(store, { payloads, codecs: new Map([['tally', codec]]) });
    await target.take(recorded([{ stream: 's' }]), 1n);
    expect(Buffer.from((await views(store))[1]!.response).toString()).toBe('tally-s/a 1 large');
  });

  it('counts contents beside an event in the size of a batch, and loads none that are in the event', async () => {
    const store = await newStore();
    const value = { scope: 'runs/p', sha256: 'abc', sizeBytes: 5n, keyId: '' };
    const content = (isLarge: boolean) =>
      isLarge ? ({ case: 'ref', value } as const) : ({ case: 'inline', value: Buffer.from('small') } as const);
    let isLarge = true;
    const codec = {
      ...tallyCodec,
      decode: () => ({ parts: ['a'], amount: 1, note: { content: content(isLarge) } }),
    };
    let writes = 0;
    const counted = {
      ...store,
      write: (...given: Parameters<ReadStore['write']>) => ((writes += 1), store.write(...given)),
    };
    const payloads = { ...noPayloads, get: () => Promise.resolve(Buffer.alloc(1_000)) };
    const limits = { ...ENTRY_BATCH_LIMITS, bytes: 2_100 }; // two events with their contents fit
    const events = recorded([{ stream: 's' }, { stream: 's' }, { stream: 's' }, { stream: 's' }]);
    await (await start(counted, { payloads, limits, codecs: new Map([['tally', codec]]) })).take(events, 4n);
    expect(writes).toBe(2);
    isLarge = false;
    const refusing = { ...noPayloads, get: () => Promise.reject(new StoreUnavailable('not asked')) };
    const target = await start(counted, { payloads: refusing, limits, codecs: new Map([['tally', codec]]) });
    await target.take(recorded(Array.from({ length: 5 }, () => ({ stream: 's' }))).slice(4), 5n);
    expect(writes).toBe(3);
  });

  it('fails, and parks nothing, when a store is unavailable', async () => {
    const store = await newStore();
    const codec = {
      ...tallyCodec,
      decode: () => {
        throw new StoreUnavailable('away');
      },
    };
    const target = await start(store, { codecs: new Map([['tally', codec]]) });
    await expect(target.take(recorded([{ stream: 's' }]), 1n)).rejects.toThrow('away');
    const value = { scope: 'runs/p', sha256: 'abc', sizeBytes: 5n, keyId: '' };
    const withReference = {
      ...tallyCodec,
      decode: () => ({ note: { content: { case: 'ref', value } as const } }) as never,
    };
    const payloads = { ...noPayloads, get: () => Promise.reject(new StoreUnavailable('no payloads')) };
    const withoutPayloads = await start(store, { payloads, codecs: new Map([['tally', withReference]]) });
    await expect(withoutPayloads.take(recorded([{ stream: 's' }]), 1n)).rejects.toThrow('no payloads');
    const failingModel: typeof counts = {
      ...counts,
      fold: () => {
        throw new StoreUnavailable('no memory');
      },
    };
    const failingFold = await start(store, { models: [failingModel] });
    await expect(failingFold.take(recorded([{ stream: 's' }]), 1n)).rejects.toThrow('no memory');
    expect(await store.parked()).toEqual([]);
  });

  it('parks a stream with an event whose contents are gone', async () => {
    const store = await newStore();
    const value = { scope: 'runs/p', sha256: 'abc', sizeBytes: 5n, keyId: '' };
    const codec = { ...tallyCodec, decode: () => ({ note: { content: { case: 'ref', value } as const } }) as never };
    await (await start(store, { codecs: new Map([['tally', codec]]) })).take(recorded([{ stream: 's' }]), 1n);
    expect(await store.parked()).toMatchObject([{ stream: 'tally-s', position: 1n }]);
  });
});

describe('a batch', () => {
  const entry = (width: number, bytes: number) => ({ width, bytes, touched: [] }) as Partial<Entry> as Entry;

  it('takes events up to each of its limits, and one event of any size', () => {
    const limits = { events: 3, documents: 10, bytes: 100 };
    const fits = (...entries: readonly (readonly [number, number])[]): boolean => {
      const batch = emptyEntryBatch(limits);
      return entries.every(([width, bytes]) => {
        const each = entry(width, bytes);
        const accepts = batch.accepts(each);
        batch.add(each);
        return accepts;
      });
    };
    expect(fits([11, 101])).toBe(true);
    expect([fits([1, 1], [1, 1], [1, 1]), fits([1, 1], [1, 1], [1, 1], [1, 1])]).toEqual([true, false]);
    expect([fits([4, 1], [6, 1]), fits([4, 1], [7, 1])]).toEqual([true, false]);
    expect([fits([1, 40], [1, 60]), fits([1, 40], [1, 61])]).toEqual([true, false]);
  });

  it('can hold a piece of a wide event; the last piece has the documents that several streams feed', () => {
    const touching = (...touched: Entry['touched']) =>
      ({ touched, width: touched.reduce((width, { keys }) => width + keys.length, 0) }) as Partial<Entry> as Entry;
    const [own, few, shared] = [
      { model: tallies, keys: ['a', 'b', 'c', 'd', 'e'] },
      { model: counts, keys: ['s'] },
      { model: totals, keys: ['total/a', 'total/b', 'total/c'] },
    ];
    const keysOf = (wide: Entry, size: number) =>
      narrowed(wide, size).map(({ touched }) => touched.map(({ model, keys }) => [model.collection.name, ...keys]));
    expect(keysOf(touching(own, shared, few), 2)).toEqual([
      [['tallies', 'a', 'b']],
      [['tallies', 'c', 'd']],
      [['tallies', 'e']],
      [
        ['counts', 's'],
        ['totals', 'total/a', 'total/b', 'total/c'],
      ],
    ]);
    expect(keysOf(touching(shared), 2)).toEqual([[['totals', 'total/a', 'total/b', 'total/c']]]);
    const fitting = touching(own, few);
    expect(narrowed(fitting, 6)).toEqual([fitting]);
  });
});

/** A release that knows one more type of event. */
const upgraded: Partial<ProjectorOptions> = {
  codecs: new Map([
    ['tally', { ...tallyCodec, decode: (_: string, data: Uint8Array) => tallyCodec.decode('Added', data, 1) }],
  ]),
  models: [tallies, counts, totals].map((model) => ({ ...model, follows: [...model.follows, 'FromTheFuture'] })),
};

/** Reads a stream of the log in pages of `size` events. */
async function* pagesOf(events: readonly RecordedEvent[], stream: string, size = 1) {
  const own = events.filter((event) => event.stream === stream);
  for (const page of cut(own, [size])) yield await Promise.resolve(page);
}

describe('streams that are parked and resumed', () => {
  type Step = { readonly does: 'take' | 'resume'; readonly events: number; readonly stopAt: number | undefined };
  const steps = fc.array(
    fc.record({
      does: fc.constantFrom<Step['does']>('take', 'take', 'resume'),
      events: fc.integer({ min: 1, max: 12 }),
      stopAt: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    }),
    { maxLength: 12 },
  );
  const withUnknownTypes = writes.map((events) =>
    events.map((each) => ({ ...each, type: each.type === 'Ignored' ? 'FromTheFuture' : each.type })),
  );
  const within = fc.record({
    events: fc.integer({ min: 1, max: 6 }),
    documents: fc.integer({ min: 1, max: 6 }),
    bytes: fc.constantFrom(1, 100_000),
  });

  it('feed the same documents as if they had never been parked, wherever each step stops', async () => {
    let parkedRuns = 0;
    /** The number of commits up to the one that fails. */
    let stopsAt = Infinity;
    const store = await newStore(() => {
      stopsAt -= 1;
      if (stopsAt <= 0) throw new StoreUnavailable('stopped');
    });
    const inputs = [withUnknownTypes, steps, within, fc.boolean()] as const;
    const property = fc.asyncProperty(...inputs, async (written, does, limits, isCached) => {
      const events = recorded(written);
      await store.clear();
      const old = { limits, cacheBytes: isCached ? 1e6 : 0 };
      let target: Projector | undefined;
      const take = async (count: number): Promise<void> => {
        target ??= await start(store, old);
        const batch = events.slice(Number(target.position()), Number(target.position()) + count);
        if (batch.length > 0) await target.take(batch, batch.at(-1)!.position);
      };
      // The projector that resumes has the new release; after it, the older one parks streams again.
      const resume = async (size: number): Promise<void> => {
        const next = await start(store, { ...old, ...upgraded });
        target = undefined;
        for (const { stream } of next.parked()) await next.resume(stream as StreamName, pagesOf(events, stream, size));
      };
      for (const step of does) {
        stopsAt = step.stopAt ?? Infinity;
        try {
          await (step.does === 'take' ? take(step.events) : resume(step.events));
        } catch (error) {
          expect(error).toBeInstanceOf(StoreUnavailable);
          target = undefined;
        }
      }
      stopsAt = Infinity;
      target = undefined;
      await take(events.length);
      if ((await store.parked()).length > 0) parkedRuns += 1;
      await resume(5);
      expect(await store.parked()).toEqual([]);
      const known = inMemory(recorded(written.map((each) => ({ ...each, type: 'Added' }))));
      expect(
        await inStore(
          store,
          known.map(([key]) => key),
        ),
      ).toEqual(known);
    });
    await fc.assert(property, { numRuns: 150 });
    expect(parkedRuns).toBeGreaterThan(30);
    await store.close();
  });

  const s = streamName('tally', ['s']);
  /** The sum and the position of each total, by part. */
  const amounts = async (store: ReadStore) =>
    (await shared(store)).map(({ fields, position }) => [fields['sum'], position]);

  it('have no event counted twice that came before they were parked', async () => {
    const store = await newStore();
    const events = recorded([
      { stream: 's', amount: 1 },
      { stream: 's', amount: 2, type: 'FromTheFuture' },
      { stream: 't', amount: 4 },
    ]);
    await (await start(store)).take(events, 3n);
    expect(await (await start(store, upgraded)).resume(s, pagesOf(events, s, 2))).toBe(true);
    expect(await amounts(store)).toEqual([[7, 3n]]);
  });

  it('are folded up to the checkpoint when they are resumed; later events come in the order of the log', async () => {
    const store = await newStore();
    const events = recorded([
      { stream: 's', amount: 1, type: 'FromTheFuture' },
      { stream: 't', amount: 2 },
      { stream: 't', amount: 4 },
      { stream: 's', amount: 8 },
    ]);
    await (await start(store)).take(events.slice(0, 2), 2n);
    const next = await start(store, upgraded);
    expect(await next.resume(s, pagesOf(events, s, 2))).toBe(true);
    expect(await amounts(store)).toEqual([[3, 2n]]);
    await next.take(events.slice(2), 4n);
    expect(await amounts(store)).toEqual([[15, 4n]]);
  });

  it('are folded up to the checkpoint of their own partition, where another partition is behind', async () => {
    const store = await newStore();
    const events = recorded([
      { stream: 's', amount: 1, type: 'FromTheFuture' },
      { stream: 's', amount: 2 },
    ]);
    await (await start(store, { partitions: [viewPartitionOf(s)] })).take(events, 2n);
    const whole = await start(store, upgraded);
    expect(whole.position()).toBe(0n);
    expect(await whole.resume(s, pagesOf(events, s))).toBe(true);
    expect(await amounts(store)).toEqual([[3, 2n]]);
  });

  it('stay parked in the projector when the store fails while they are resumed', async () => {
    let isAway = false;
    const store = await newStore(() => {
      if (isAway) throw new StoreUnavailable('away');
    });
    const events = recorded([{ stream: 's', type: 'FromTheFuture' }, { stream: 't' }, { stream: 's', amount: 8 }]);
    await (await start(store)).take(events.slice(0, 2), 2n);
    const next = await start(store, upgraded);
    isAway = true;
    await expect(next.resume(s, pagesOf(events, s))).rejects.toThrow('away');
    isAway = false;
    await next.take(events.slice(2), 3n);
    expect(await amounts(store)).toEqual([[1, 2n]]);
    expect(await next.resume(s, pagesOf(events, s))).toBe(true);
    expect(await amounts(store)).toEqual([[10, 3n]]);
  });

  it('are resumed by only one of two projectors', async () => {
    const store = await newStore();
    const events = recorded([{ stream: 't' }, { stream: 's', type: 'FromTheFuture' }, { stream: 't' }]);
    await (await start(store)).take(events, 3n);
    const [first, second] = [await start(store, upgraded), await start(store, upgraded)];
    expect(await first.resume(s, pagesOf(events, s))).toBe(true);
    await expect(second.resume(s, pagesOf(events, s))).rejects.toBeInstanceOf(CheckpointMoved);
    expect(await amounts(store)).toEqual([[3, 3n]]);
  });

  it('are parked again at the event that still cannot be taken, and then go on from there', async () => {
    const store = await newStore();
    const events = recorded([
      { stream: 's', amount: 1, type: 'FromTheFuture' },
      { stream: 's', amount: 2, type: 'Odd' },
      { stream: 's', amount: 4 },
      { stream: 't', amount: 8 },
    ]);
    await (await start(store, { models: [totals] })).take(events, 4n);
    const models = [{ ...totals, follows: ['Added', 'Odd', 'FromTheFuture'] }];
    const next = await start(store, { ...upgraded, models });
    expect(await next.resume(s, pagesOf(events, s, 3))).toBe(false);
    expect(next.parked().map(({ position, reason }) => [position, reason])).toEqual([[2n, 'no such sum']]);
    expect(await amounts(store)).toEqual([[9, 4n]]);
    const mended = events.map((event) => ({ ...event, type: 'Added' }));
    expect(await next.resume(s, pagesOf(mended, s, 3))).toBe(true);
    expect(await amounts(store)).toEqual([[15, 4n]]);
  });

  it('are resumed one by one, and read no further than the event that parks one again', async () => {
    const store = await newStore();
    const type = 'FromTheFuture';
    const events = recorded([{ stream: 's', type }, { stream: 't', type }, { stream: 't' }, { stream: 't' }]);
    const target = await start(store);
    await target.take(events, 4n);
    let pages = 0;
    async function* read(stream: StreamName) {
      for await (const page of pagesOf(events, stream, 1)) {
        pages += 1;
        yield page;
      }
    }
    const t = streamName('tally', ['t']);
    expect(await target.resume(t, read(t))).toBe(false);
    expect([pages, target.parked().map(({ stream }) => stream)]).toEqual([1, [s, t]]);
    const notParked = streamName('tally', ['none']);
    expect(await target.resume(notParked, read(notParked))).toBe(true);
    const next = await start(store, upgraded);
    expect(await next.resume(t, read(t))).toBe(true);
    expect(next.parked().map(({ stream }) => stream)).toEqual([s]);
  });

  it('stay parked at the event that they have reached when the store fails after it', async () => {
    let commits = -Infinity; // counted from 0 once the stream is resumed
    const store = await newStore(() => {
      commits += 1;
      if (commits === 3) throw new StoreUnavailable('away');
    });
    const events = recorded([
      { stream: 's', amount: 1, type: 'FromTheFuture' },
      { stream: 's', amount: 2, type: 'Odd' },
      { stream: 's', amount: 4 },
    ]);
    await (await start(store, { models: [totals] })).take(events, 3n);
    const next = await start(store, {
      ...upgraded,
      models: [{ ...totals, follows: ['Added', 'Odd', 'FromTheFuture'] }],
    });
    commits = 0;
    await expect(next.resume(s, pagesOf(events, s, 3))).rejects.toThrow('away');
    expect(next.parked()).toEqual(await store.parked());
    const mended = events.map((event) => ({ ...event, type: 'Added' }));
    expect(await next.resume(s, pagesOf(mended, s, 3))).toBe(true);
    expect(await amounts(store)).toEqual([[7, 3n]]);
  });

  it('are parked for all views of their projector, and not for a projector of other views', async () => {
    const store = await newStore();
    const events = recorded([{ stream: 's', type: 'FromTheFuture' }]);
    await (await start(store)).take(events, 1n);
    expect((await store.parked()).map(({ views: parkedFor }) => parkedFor)).toEqual(['counts.v1 tallies.v1 totals.v1']);
    const others = await start(store, { ...upgraded, models: [counts] });
    expect(others.parked()).toEqual([]);
    expect((await start(store)).parked().map(({ stream }) => stream)).toEqual([s]);
  });

  it('are written once when the store fails in the middle of a wide event', async () => {
    const limits = { ...ENTRY_BATCH_LIMITS, documents: 2 };
    const parts = ['a', 'b', 'c', 'd', 'e'];
    const events = recorded([
      { stream: 's', parts, type: 'FromTheFuture' },
      { stream: 't', parts },
      { stream: 's', parts, amount: 10 },
    ]);
    for (let stopAt = 1; stopAt <= 8; stopAt += 1) {
      let commits = -Infinity; // counted from 0 once the stream is resumed
      const store = await newStore(() => {
        commits += 1;
        if (commits === stopAt) throw new StoreUnavailable('stopped');
      });
      await (await start(store)).take(events, 3n);
      commits = 0;
      const stopped = (await start(store, { ...upgraded, limits })).resume(s, pagesOf(events, s, 2));
      await expect(stopped).rejects.toThrow('stopped');
      await (await start(store, { ...upgraded, limits })).resume(s, pagesOf(events, s, 2));
      expect(await amounts(store)).toEqual(parts.map(() => [12, 3n]));
      expect((await start(store)).parked()).toEqual([]);
      await store.close();
    }
  });
});

describe('a stream that a view cannot take', () => {
  const written: Written[] = [
    { stream: 'good', amount: 1 },
    { stream: 'bad', amount: 2 },
    { stream: 'bad', amount: 4, type: 'Poison' },
    { stream: 'good', amount: 8 },
    { stream: 'bad', amount: 16 },
    { stream: 'good', amount: 32 },
  ];
  /** The events, in which the one of the type `Poison` gets this type. */
  const withPoison = (type: string) =>
    recorded(written.map((each) => (each.type === 'Poison' ? { ...each, type } : each)));
  const bad = streamName('tally', ['bad']);

  it.each([
    ['Corrupt', 'the bytes are no tally'],
    ['FromTheFuture', 'no event FromTheFuture is known'],
    ['Refused', 'this tally is refused'],
    ['Odd', 'no such sum'],
  ])('is parked at an event of the type %s, and other streams go on', async (type, reason) => {
    for (const [batch, hasNext] of [
      [1, false],
      [2, false],
      [6, false],
      [1, true],
      [2, true],
    ] as const) {
      const store = await newStore();
      const target = await start(store);
      for (const events of cut(withPoison(type), [batch])) await target.take(events, events.at(-1)!.position, hasNext);
      if (hasNext) await target.take([], 6n);
      const parked = [{ views: 'counts.v1 tallies.v1 totals.v1', stream: bad, position: 3n, reason }];
      expect(await store.parked()).toEqual(parked);
      expect(target.parked()).toEqual(parked);
      expect(target.position()).toBe(6n);
      const seen = (await views(store)).map(({ key, fields, position }) => [key, fields['sum'], position]);
      expect(seen).toEqual([
        ['tally-bad', undefined, 2n],
        ['tally-bad/a', 2, 2n],
        ['tally-good', undefined, 6n],
        ['tally-good/a', 41, 6n],
      ]);
      await store.close();
    }
  });

  it('stays parked for the next projector, and gives the right documents once it can be taken', async () => {
    const store = await newStore();
    const events = withPoison('FromTheFuture');
    await (await start(store)).take(events.slice(0, 4), 4n);
    const next = await start(store);
    await next.take(events.slice(4), 6n);
    const ofBad = events.filter(({ stream }) => stream === bad);
    const pages = () => pagesOf(ofBad, bad);
    expect(await next.resume(bad, pages())).toBe(false);
    expect((await store.parked()).map(({ stream, position }) => [stream, position])).toEqual([[bad, 3n]]);

    const later = await start(store, upgraded);
    expect(await later.resume(bad, pages())).toBe(true);
    expect(await store.parked()).toEqual([]);
    expect(later.position()).toBe(6n);
    expect([...(await views(store)), ...(await shared(store))]).toEqual(await oneByOne(withPoison('Added')));
  });

  it('resumes with the events that were gathered while it was parked', async () => {
    const store = await newStore();
    const events = withPoison('FromTheFuture');
    await (await start(store)).take(events.slice(0, 3), 3n);
    const later = await start(store, upgraded);
    await later.take(events.slice(3), 6n, true);
    expect(later.position()).toBe(3n);
    const ofBad = events.filter(({ stream }) => stream === bad);
    expect(await later.resume(bad, pagesOf(ofBad, bad))).toBe(true);
    expect(later.position()).toBe(6n);
    expect([...(await views(store)), ...(await shared(store))]).toEqual(await oneByOne(withPoison('Added')));
  });

  it('stops a projector whose `onPoison` is `stop`', async () => {
    const target = await start(await newStore(), { onPoison: 'stop' });
    await expect(target.take(withPoison('Refused'), 6n)).rejects.toMatchObject({
      message: 'the views cannot process Refused at position 3 of stream tally-bad: this tally is refused',
      cause: { message: 'this tally is refused' },
    });
  });

  it('stops a gathering projector when it writes a document that cannot be stored, not before', async () => {
    const target = await start(await newStore(), { onPoison: 'stop' });
    await target.take(recorded([{ stream: 'good' }, { stream: 'bad', type: 'Odd' }]), 2n, true);
    await expect(target.take([], 2n)).rejects.toThrow(
      'the views cannot process Odd at position 2 of stream tally-bad: no such sum',
    );
  });
});
