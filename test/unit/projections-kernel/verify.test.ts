import { beforeEach, describe, expect, it } from 'vitest';
import { eventReader } from '../../../projections/runtime/event-reader.js';
import { PARTITIONS, viewPartitionOf } from '../../../projections/runtime/partitions.js';
import { projector } from '../../../projections/runtime/projector.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';
import { rebuildViews } from '../../../projections/runtime/runs/rebuild.js';
import {
  type RebuildProgress,
  shareBuilder,
  sharesOf,
  type ThreadedShareBuilder,
} from '../../../projections/runtime/runs/rebuild-share.js';
import { sharedVerifier, verifier } from '../../../projections/runtime/runs/verify.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { counts, noPayloads, recorded, tallies, tallyCodec, totals } from './tallies.js';

/** Tallies whose documents have an element of lists too, and one field that the collection does not have. */
const listed: typeof tallies = {
  ...tallies,
  encode: (key, tally) => {
    const { fields, ...rest } = tallies.encode(key, tally);
    return { ...rest, fields: { ...fields, more: 1 }, listElement: Buffer.from(String(tally.sum)) };
  },
};
const models: readonly ReadModel<unknown>[] = [listed, counts, totals];
const sources = { codecs: new Map([['tally', tallyCodec]]), payloads: noPayloads, models };

let store: ReadStore;
beforeEach(async () => {
  store = sqliteReadStore({ directory: undefined, mode: 'read-write' });
  await store.prepare(models.map(({ collection }) => collection));
});

/** Projects the events up to a position to the store. */
const project = async (events: readonly RecordedEvent[], to = events.length): Promise<void> => {
  const target = await projector({ ...sources, readStore: store, logId: 'log', onPoison: 'park' });
  await target.take(events.slice(0, to), BigInt(to));
};

/** The events of each stream. */
const streamsOf = (events: readonly RecordedEvent[]): RecordedEvent[][] =>
  [...new Set(events.map(({ stream }) => stream))].map((stream) => events.filter((event) => event.stream === stream));

/** Gives another document than the stored one; `undefined` gives none. */
type Spoil = (document: StoredDocument) => StoredDocument | undefined;

/** A store that reads documents as `spoil` makes them, and says how many are read at once. */
const spoilt = (spoil: Spoil = (document) => document) => {
  const reads: (readonly [collection: string, keys: number])[] = [];
  const getMany: ReadStore['getMany'] = async (collection, keys) => {
    reads.push([collection.name, keys.length]);
    return (await store.getMany(collection, keys)).flatMap((each) => spoil(each) ?? []);
  };
  return { reads, store: { ...store, getMany } };
};

const events = recorded([
  { stream: 's', parts: ['a', 'b'] },
  { stream: 't', amount: 3 },
  { stream: 's', parts: ['a'], amount: 2 },
]);

/** Verifies the events of all streams up to a position, and returns the reads of the store. */
const verify = async (spoil?: Spoil, upTo = 3n) => {
  const { store: read, reads } = spoilt(spoil);
  const { add, finish } = verifier({ ...sources, store: read });
  for (const stream of streamsOf(events)) await add([stream], upTo);
  await finish();
  return reads;
};

describe('the verification of views', () => {
  it('reads the documents that one stream alone feeds, those of different streams at once', async () => {
    await project(events);
    expect(await verify()).toEqual([
      ['tallies', 3],
      ['counts', 2],
    ]);
  });

  it('compares up to a position', async () => {
    await project(events, 2);
    await verify(undefined, 2n);
    await expect(verify(undefined, 3n)).rejects.toThrow(
      'the view tallies is wrong about tally-s/a: it contains events up to position 1, not 3',
    );
  });

  /** Changes the document with this key, and no other. */
  const only =
    (key: string, change: Spoil): Spoil =>
    (document) =>
      document.key === key ? change(document) : document;
  const empty = Buffer.from('');

  it.each<[string, Spoil, string]>([
    ['is missing', () => undefined, 'it is missing'],
    ['has another position', (each) => ({ ...each, position: 9n }), 'it contains events up to position 9, not 3'],
    ['has other fields', (each) => ({ ...each, fields: { sum: 4 } }), 'its fields differ'],
    ['lacks a field', (each) => ({ ...each, fields: {} }), 'its fields differ'],
    ['has another response', (each) => ({ ...each, response: empty }), 'its stored parts differ: response'],
    [
      'has another fold state and no element of lists',
      ({ listElement: _, ...each }) => ({ ...each, foldState: empty }),
      'its stored parts differ: listElement, foldState',
    ],
  ])('refuses a document that %s', async (_, change, reason) => {
    await project(events);
    await expect(verify(only('tally-s/a', change))).rejects.toThrow(
      `the view tallies is wrong about tally-s/a: ${reason}`,
    );
  });

  it('refuses a part that should not be there, and ignores a field that the collection does not have', async () => {
    await project(events);
    const more: Spoil = (each) => ({ ...each, foldState: Buffer.from('more') });
    await expect(verify(only('tally-t', more))).rejects.toThrow(
      'wrong about tally-t: its stored parts differ: foldState',
    );
    await verify((each) => ({ ...each, fields: { ...each.fields, more: 2 } }));
  });

  it('compares documents once a thousand have gathered, a thousand at a time, and the rest at the end', async () => {
    const parts = Array.from({ length: 1_200 }, (_, at) => `p${at}`);
    const wide = recorded([
      { stream: 's', parts: parts.slice(0, 998) },
      { stream: 't', parts },
      { stream: 'u', parts: ['a'] },
    ]);
    await project(wide);
    const { store: read, reads } = spoilt();
    const { add, finish } = verifier({ ...sources, store: read });
    const [one, two, three] = streamsOf(wide);
    await add([one!], 3n);
    expect(reads).toEqual([]); // 999 documents
    await add([two!], 3n);
    expect(reads).toEqual([
      ['tallies', 1_000],
      ['tallies', 1_000],
      ['tallies', 198],
      ['counts', 2],
    ]);
    await add([three!], 3n);
    await finish();
    expect(reads.slice(4)).toEqual([
      ['tallies', 1],
      ['counts', 1],
    ]);
    await add([streamsOf(recorded([{ stream: 'v', parts: [] }]))[0]!], 0n);
    await finish();
    expect(reads).toHaveLength(6);
    await add([one!], 3n);
    expect(reads).toHaveLength(6); // 999 documents again
    await add([three!], 3n);
    expect(reads).toHaveLength(8);
  });

  it('compares documents when exactly a thousand have gathered', async () => {
    const [event] = recorded([{ stream: 's', parts: Array.from({ length: 999 }, (_, at) => `p${at}`) }]);
    await project([event!]);
    const { store: read, reads } = spoilt();
    await verifier({ ...sources, store: read }).add([[event!]], 1n);
    expect(reads).toEqual([
      ['tallies', 999],
      ['counts', 1],
    ]);
  });

  it('passes over events that no view follows, and documents that no event has made', async () => {
    const noCounts: typeof counts = { ...counts, fold: () => undefined };
    const { add, finish } = verifier({ ...sources, models: [noCounts], store });
    await add([[...events, ...recorded([{ stream: 's', type: 'Other' }])]], 3n);
    await finish();
  });

  it('names an event that cannot be read', async () => {
    const { add } = verifier({ ...sources, store });
    const broken = recorded([{ stream: 's' }, { stream: 's', type: 'Corrupt' }]);
    await expect(add([broken], 2n)).rejects.toMatchObject({
      message: 'the event at position 2 cannot be read',
      cause: { message: 'the bytes are no tally' },
    });
    await add([broken], 1n);
  });
});

describe('the verification of documents that several streams feed', () => {
  /** Makes a verifier of at most `maxDocuments` documents, which has seen the events `seen`. */
  const verifierAfter = async (
    maxDocuments: number,
    seen: readonly RecordedEvent[],
    readModels: readonly ReadModel<unknown>[] = models,
  ) => {
    const shared = sharedVerifier(readModels, maxDocuments);
    const read = eventReader({ ...sources, models: readModels });
    for (const event of seen) {
      const entry = await read(event);
      if (entry) shared.see(entry);
    }
    return shared;
  };

  it('compares these documents, and no others, with a fold of all events', async () => {
    await project(events);
    const { store: read, reads } = spoilt();
    await (await verifierAfter(10, events)).verify(read);
    expect(reads).toEqual([['totals', 2]]);
    const shared = await verifierAfter(10, recorded(Array.from({ length: 4 }, () => ({ stream: 's' }))));
    await expect(shared.verify(store)).rejects.toThrow('the view totals is wrong about total/a');
  });

  it('leaves out an event that cannot be read', async () => {
    const broken = recorded([{ stream: 's' }, { stream: 's', type: 'Corrupt' }]);
    await project(broken);
    await (await verifierAfter(10, broken)).verify(store);
  });

  it('samples the same documents in whatever order they come, and at most as many as the limit', async () => {
    const parts = Array.from({ length: 200 }, (_, at) => `p${at}`);
    /** The keys of the documents that are verified after events of these parts. */
    const keysOf = async (maxDocuments: number, eventParts: readonly string[]): Promise<string[]> => {
      const events = recorded(eventParts.map((part) => ({ stream: 's', parts: [part] })));
      const shared = await verifierAfter(maxDocuments, events, [totals]);
      const keys: string[] = [];
      const getMany: ReadStore['getMany'] = (_, some) => {
        keys.push(...some);
        return Promise.resolve([]);
      };
      await shared.verify({ ...store, getMany }).catch(() => undefined);
      return keys.toSorted();
    };
    expect(await keysOf(200, parts)).toHaveLength(200);
    const half = await keysOf(199, parts);
    expect(half).toEqual(await keysOf(199, parts.toReversed()));
    expect(half.length).toBeGreaterThan(75);
    expect(half.length).toBeLessThan(125);
    const eighth = await keysOf(40, parts);
    expect(eighth.every((key) => half.includes(key))).toBe(true);
    expect(eighth.length).toBeLessThanOrEqual(40);
    expect(eighth.length).toBeGreaterThan(10);
    // Events of documents that are left out change nothing, and those of the sampled are folded.
    expect(await keysOf(40, [...parts, ...parts])).toEqual(eighth);
  });
});

/** A log in memory, in pages of `size` events. */
const logOf = (all: readonly RecordedEvent[], size = 2) => {
  const read: string[] = [];
  const log: Partial<EventLog> = {
    logId: 'log',
    head: () => Promise.resolve(BigInt(all.length)),
    async *readLog({ after }) {
      const rest = all.filter(({ position }) => position > after);
      for (let start = 0; start < rest.length; start += size) {
        const page = rest.slice(start, start + size);
        yield await Promise.resolve({ events: page, position: page.at(-1)!.position });
      }
    },
    async *readStream(stream) {
      read.push(stream);
      yield await Promise.resolve(all.filter((event) => event.stream === stream));
    },
  };
  return { read, log: log as EventLog };
};

describe('a share of a rebuild', () => {
  it('projects its partitions, and reports its progress', async () => {
    const many = recorded(Array.from({ length: 20 }, (_, at) => ({ stream: `s${at}` })));
    const even = PARTITIONS.filter((partition) => partition % 2 === 0);
    const isOwn = ({ stream }: RecordedEvent): boolean => viewPartitionOf(stream) % 2 === 0;
    const own = many.filter(isOwn).length;
    const { log, read } = logOf(many, 5);
    const share = shareBuilder({ ...sources, log, store, partitions: even, verifiedStreams: 100, heldBytes: 1e6 });
    const progress: RebuildProgress[] = [];
    expect(await share.build((each) => progress.push(each))).toBe(own);
    const countAt = (position: number): number => many.slice(0, position).filter(isOwn).length;
    expect(progress).toEqual(
      [5, 10, 15, 20, 20].map((done) => ({ phase: 'build', done, total: 20, count: countAt(done) })),
    );
    expect(own).toBeGreaterThan(0);
    const stored = await store.getMany(
      counts.collection,
      many.map(({ stream }) => stream),
    );
    expect(stored).toHaveLength(own);
    progress.length = 0;
    expect(await share.verify((each) => progress.push(each))).toBe(own);
    expect(progress).toEqual([0, own].map((done) => ({ phase: 'verify', done, total: own, count: done })));
    expect(read).toEqual([]);
  });

  it('reads streams again that it does not hold in memory, and reports after every 500', async () => {
    const many = recorded(Array.from({ length: 1_001 }, (_, at) => ({ stream: `s${at}`, parts: [] })));
    const { log, read } = logOf(many, 500);
    const share = shareBuilder({ ...sources, log, store, partitions: PARTITIONS, verifiedStreams: 2_000 });
    await share.build(() => undefined);
    const done: number[] = [];
    expect(await share.verify((each) => done.push(each.done))).toBe(1_001);
    expect(done).toEqual([0, 500, 1_000, 1_001]);
    expect(read).toHaveLength(1_001);
  });

  it('writes what it has gathered from many pages at once', async () => {
    const { log } = logOf(recorded(Array.from({ length: 20 }, (_, at) => ({ stream: `s${at}` }))));
    let writes = 0;
    const counted: ReadStore = {
      ...store,
      write: (batch) => {
        writes += 1;
        return store.write(batch);
      },
    };
    const share = shareBuilder({ ...sources, log, store: counted, partitions: PARTITIONS, verifiedStreams: 9 });
    await share.build(() => undefined);
    expect(writes).toBe(1);
  });

  it('fails at an event that a view cannot take, and parks no stream', async () => {
    const { log } = logOf(recorded([{ stream: 's' }, { stream: 's', type: 'Corrupt' }]));
    const share = shareBuilder({ ...sources, log, store, partitions: PARTITIONS, verifiedStreams: 9 });
    await expect(share.build(() => undefined)).rejects.toThrow(
      'the views cannot process Corrupt at position 2 of stream tally-s: the bytes are no tally',
    );
    expect(await store.parked()).toEqual([]);
  });

  it('accepts documents that their last event has left as they were', async () => {
    const unchangedByLast: typeof tallies = {
      ...tallies,
      fold: (tally, event, key) => (event.position === 3n ? undefined : tallies.fold(tally, event, key)),
    };
    const { log } = logOf(events);
    const scope = { partitions: PARTITIONS, verifiedStreams: 9 };
    const share = shareBuilder({ ...sources, models: [unchangedByLast, counts], log, store, ...scope });
    await share.build(() => undefined);
    expect(await share.verify(() => undefined)).toBe(2);
  });

  it('verifies streams whose events it holds in memory', async () => {
    const { log, read } = logOf(events);
    const spoil: Spoil = (each) => (each.key === 'tally-s/b' ? undefined : each);
    const spoiltStore = spoilt(spoil).store;
    const scope = { partitions: PARTITIONS, verifiedStreams: 9, heldBytes: 1e6 };
    const share = shareBuilder({ ...sources, models: [listed, counts], log, store: spoiltStore, ...scope });
    await share.build(() => undefined);
    await expect(share.verify(() => undefined)).rejects.toThrow('the view tallies is wrong about tally-s/b');
    expect(read).toEqual([]);
  });

  it('refuses a wrong document that several streams feed', async () => {
    const { log } = logOf(events);
    const spoil: Spoil = (each) => (each.key === 'total/b' ? undefined : each);
    const share = shareBuilder({
      ...sources,
      log,
      store: spoilt(spoil).store,
      partitions: PARTITIONS,
      verifiedStreams: 9,
    });
    await share.build(() => undefined);
    await expect(share.verify(() => undefined)).rejects.toThrow(
      'the view totals is wrong about total/b: it is missing',
    );
  });
});

describe('the shares of a rebuild', () => {
  it.each([1, 2, 3])('have each partition once: %d shares', (count) => {
    const shares = sharesOf(count);
    expect(shares).toHaveLength(count);
    expect(shares.every((share) => share.length >= Math.floor(PARTITIONS.length / count))).toBe(true);
    expect(shares.flat().toSorted()).toEqual(PARTITIONS.toSorted());
  });
});

describe('a rebuild of shares', () => {
  /** Another share, which does what the test says. */
  const other = (steps: string[], more: Partial<ThreadedShareBuilder> = {}): ThreadedShareBuilder => ({
    build: (onProgress) => {
      onProgress({ phase: 'build', done: 7, total: 9, count: 1 });
      return Promise.resolve(4);
    },
    verify: (onProgress) => {
      onProgress({ phase: 'verify', done: 2, total: 3, count: 2 });
      return Promise.resolve(5);
    },
    close: () => Promise.resolve(void steps.push('closed')),
    ...more,
  });

  /** Rebuilds the views with `others` further shares; `steps` has what was closed, activated and discarded. */
  const rebuild = async (more: Partial<ThreadedShareBuilder> = {}, others = 1) => {
    const steps: string[] = [];
    const progress: RebuildProgress[] = [];
    const fresh = {
      store,
      activate: () => Promise.resolve(void steps.push('activated')),
      discard: () => Promise.resolve(void steps.push('discarded')),
    };
    const rebuilt = rebuildViews({
      ...sources,
      log: logOf(events).log,
      fresh,
      onProgress: (each) => progress.push(each),
      verifiedStreams: 2,
      ...(others > 0 && { others: Array.from({ length: others }, () => other(steps, more)) }),
    });
    const result = await rebuilt.catch((error: unknown) => (error as Error).message);
    return { steps, progress, result };
  };

  it('adds up the reports of all shares once each has reported in the phase, then activates the views', async () => {
    const { steps, progress, result } = await rebuild();
    // 5 streams of the other share, and 1 of this one: the limit of two is divided by the number of shares
    expect(result).toEqual({ position: 3n, events: 7, verifiedStreams: 6 });
    expect(progress).toEqual([
      { phase: 'build', done: 9, total: 12, count: 3 },
      { phase: 'build', done: 10, total: 12, count: 4 },
      { phase: 'build', done: 10, total: 12, count: 4 },
      { phase: 'verify', done: 2, total: 4, count: 2 },
      { phase: 'verify', done: 3, total: 4, count: 3 },
    ]);
    expect(steps).toEqual(['closed', 'activated']);
  });

  it('may have one share alone', async () => {
    const { steps, result } = await rebuild({}, 0);
    expect([steps, result]).toEqual([['activated'], { position: 3n, events: 3, verifiedStreams: 2 }]);
  });

  it.each(['build', 'verify'] as const)('leaves the views in use when other shares fail to %s', async (step) => {
    const { steps, result } = await rebuild({ [step]: () => Promise.reject(new Error('no memory')) }, 2);
    expect([result, steps]).toEqual(['no memory', ['closed', 'closed', 'discarded']]);
  });
});
