import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventReader } from '../../../projections/runtime/event-reader.js';
import { rebuildViews } from '../../../projections/runtime/runs/rebuild.js';
import { type RebuildProgress, shareBuilder, sharesOf } from '../../../projections/runtime/runs/rebuild-share.js';
import type { RunProgress } from '../../../projections/runtime/runs/partition-run.js';
import { runProjections, type RunningProjections } from '../../../projections/runtime/runs/runner.js';
import { viewPartitionOf, PARTITIONS } from '../../../projections/runtime/partitions.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { DocumentWrite, ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';
import { storedProgress } from '../../../projections/runtime/stored-progress.js';
import { sharedVerifier } from '../../../projections/runtime/runs/verify.js';
import { settableViews } from '../../../projections/runtime/views.js';
import { freshSqliteViews, PREVIOUS_FILE } from '../../../projections/store/sqlite/fresh-views.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { logEndText } from '../../../services/kernel/log-readers/log-end.js';
import { streamName } from '../../../services/kernel/stream.js';
import { type SqliteEventStore, sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { until } from '../../support/until.js';
import { counts, metadata, noPayloads, recorded, tallies, tallyCodec, totals, type Written } from './tallies.js';

const models: readonly ReadModel<unknown>[] = [tallies, counts];
const sources = { codecs: new Map([['tally', tallyCodec]]), payloads: noPayloads, models };
/** Calls `run` later, unless the returned function is called before. */
const timer = (afterMs: number, run: () => void) => {
  const timeout = setTimeout(run, afterMs);
  return () => clearTimeout(timeout);
};

let directory: string;
let log: SqliteEventStore;
let appended = 0; // over all tests, so that no two events have one id

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-runner-'));
  log = await sqliteEventStore({ directory });
});
afterEach(() => log.close());

/** Appends events that are recorded at 1,000 ms, and returns the position of the last. */
const append = async (...written: Written[]): Promise<bigint> => {
  let position = 0n;
  for (const { stream, type = 'Added', ...body } of written) {
    const { data } = tallyCodec.encode({ parts: ['a'], amount: 1, ...body });
    appended += 1;
    const event = { id: Buffer.from(String(appended).padStart(16, '0')), type, data, metadata: metadata(1_000) };
    ({ position } = await log.append(streamName('tally', [stream]), 'any', [event]));
  }
  return position;
};

const openStore = (): ReadStore => sqliteReadStore({ directory, mode: 'read-write' });

/** The sum of a tally in the view. */
const sumOf = async (store: ReadStore, stream: string, part = 'a') =>
  (await store.get(tallies.collection, `${streamName('tally', [stream])}/${part}`))?.fields['sum'];

type More = Partial<
  Pick<
    Parameters<typeof runProjections>[0],
    'pauseAfterLarge' | 'codecs' | 'log' | 'onUnavailable' | 'onWait' | 'partitions'
  >
> & {
  readonly models?: readonly ReadModel<unknown>[];
};

/** Runs the projections at the time of 5,000 ms. `reached` waits up to 4 s until the views have a position. */
const run = async (store: ReadStore, onStartOver?: (why: string) => void, more: More = {}) => {
  const views = settableViews(timer);
  const progress: RunProgress[] = [];
  const running: RunningProjections = await runProjections({
    ...sources,
    log,
    readStore: store,
    now: () => 5_000,
    onProgress: (each) => {
      progress.push(each);
      views.setPositions(each.position);
    },
    ...(onStartOver && { onStartOver }),
    ...more,
  });
  return { running, views, progress, reached: (position: bigint) => views.reached(position, 4_000) };
};

describe('running projections', () => {
  it('catch up, then follow live, and report their lag', async () => {
    const store = openStore();
    const behind = await append({ stream: 's', amount: 1 }, { stream: 's', amount: 2 });
    const { running, reached, progress } = await run(store);
    expect(await reached(behind)).toBe(true);
    expect(await sumOf(store, 's')).toBe(3);
    expect(await reached(await append({ stream: 's', amount: 4 }))).toBe(true);
    expect(await sumOf(store, 's')).toBe(7);
    expect(progress.at(-1)).toEqual({ position: 3n, lagMs: 4_000, parked: 0 });
    await running.close();
    await running.ended;
    await store.close();
  });

  it('pause after many events, and then take together those that came during the pause', async () => {
    const store = openStore();
    let resume = (): void => undefined;
    let pauses = 0;
    const many = Array.from({ length: 40 }, () => ({ stream: 's' }));
    await append(...many);
    const ending = new Promise<void>((resolve) => (resume = resolve));
    const pauseAfterLarge = (): Promise<void> => {
      pauses += 1;
      return ending;
    };
    const { running, reached, progress } = await run(store, undefined, { pauseAfterLarge });
    expect(await reached(40n)).toBe(true);
    const last = await append(...Array.from({ length: 10 }, () => ({ stream: 's' })));
    expect(running.position()).toBe(40n);
    resume();
    expect(await reached(last)).toBe(true);
    expect(progress.map(({ position }) => position)).toEqual([0n, 40n, 50n]);
    expect(pauses).toBe(1);
    await running.close();
    await store.close();
  });

  it('do not pause while they are behind the head of the log', async () => {
    const store = openStore();
    const id = (number: number): Buffer => Buffer.from(String(number).padStart(16, '0'));
    const { data } = tallyCodec.encode({ parts: ['a'], amount: 1 });
    const event = { type: 'Added', data, metadata: metadata(1_000) };
    const stream = streamName('tally', ['long']);
    for (let batch = 0; batch < 105; batch += 1) {
      const events = Array.from({ length: 100 }, (_, index) => ({ ...event, id: id(batch * 100 + index) }));
      await log.append(stream, 'any', events);
    }
    let pauses = 0;
    const pauseAfterLarge = (): Promise<void> => Promise.resolve(void (pauses += 1));
    const { running, reached, progress } = await run(store, undefined, { pauseAfterLarge });
    expect(await reached(10_500n)).toBe(true);
    await running.close();
    // The views gather up to 10,000 events before they write.
    expect(progress.map(({ position }) => position)).toEqual([0n, 10_000n, 10_500n]);
    expect(pauses).toBe(1);
    await store.close();
  });

  describe('whose store is full', () => {
    /** Wraps the store so that its next writes fail as on a full disk. */
    const full = (store: ReadStore, writes: number): ReadStore => {
      let refusals = writes;
      return {
        ...store,
        write: (batch) => {
          refusals -= 1;
          return refusals >= 0 ? Promise.reject(new StoreUnavailable('disk is full')) : store.write(batch);
        },
      };
    };

    it('try again until a write succeeds, and then have every event', async () => {
      const store = openStore();
      const times: number[] = [];
      const onUnavailable = (_: unknown, time: number) => Promise.resolve(void times.push(time));
      const { running, reached } = await run(full(store, 3), undefined, { onUnavailable });
      expect(await reached(await append({ stream: 's', amount: 1 }, { stream: 's', amount: 2 }))).toBe(true);
      expect(times).toEqual([1, 2, 3]);
      expect(await sumOf(store, 's')).toBe(3);
      await running.close();
      await running.ended;
      await store.close();
    });

    it('can be closed before a write succeeds', async () => {
      const store = openStore();
      await append({ stream: 's' });
      let noteFailure = (): void => undefined;
      const hasFailed = new Promise<void>((resolve) => (noteFailure = resolve));
      const onUnavailable = () => new Promise<void>((resolve) => (noteFailure(), setImmediate(resolve)));
      const { running } = await run(full(store, Infinity), undefined, { onUnavailable });
      await hasFailed;
      await running.close();
      await running.ended;
      expect(await sumOf(store, 's')).toBeUndefined();
      await store.close();
    });

    it('end when there is no retry callback', async () => {
      const store = openStore();
      await append({ stream: 's' });
      const { running } = await run(full(store, 1));
      await expect(running.ended).rejects.toBeInstanceOf(StoreUnavailable);
      await store.close();
    });
  });

  it('go on from their checkpoint', async () => {
    const first = openStore();
    const one = await run(first);
    await one.reached(await append({ stream: 's' }, { stream: 's' }));
    await one.running.close();
    await first.close();
    const last = await append({ stream: 's', amount: 5 });
    const second = openStore();
    tallyCodec.decoded = 0;
    const two = await run(second);
    expect(two.running.position()).toBe(2n);
    await two.reached(last);
    expect(await sumOf(second, 's')).toBe(7);
    expect(tallyCodec.decoded).toBe(1);
    await two.running.close();
    await second.close();
  });

  it('start over when the views are of another log', async () => {
    const store = openStore();
    await store.prepare([tallies.collection]);
    const to = { logId: 'another', position: 1n };
    const stale = { key: 'tally-s/a', position: 99n, fields: { sum: 99 }, response: Buffer.from('stale') };
    const documents = [{ collection: tallies.collection, document: stale }];
    await store.write({ documents, checkpoints: [{ name: 'counts.v1 tallies.v1', from: undefined, to }] });
    const last = await append({ stream: 's' });
    const reason: string[] = [];
    const { running, reached } = await run(store, (each) => reason.push(each));
    await reached(last);
    expect(reason).toEqual(['the views are of another log']);
    expect(await sumOf(store, 's')).toBe(1);
    await running.close();
    await store.close();
  });

  /** Views that have seen position 3 of the log, which has one event. */
  const viewsAhead = async (): Promise<ReadStore> => {
    const store = openStore();
    await store.prepare([tallies.collection]);
    const to = { logId: log.logId, position: 3n };
    const seen = { key: 'tally-s/a', position: 3n, fields: { sum: 7 }, response: Buffer.from('seen') };
    const documents = [{ collection: tallies.collection, document: seen }];
    await store.write({ documents, checkpoints: [{ name: 'counts.v1 tallies.v1', from: undefined, to }] });
    await append({ stream: 'before' });
    return store;
  };

  it('start over when they are ahead of a log that is read from its own file', async () => {
    const store = await viewsAhead();
    const startedOver: string[] = [];
    const { running, reached } = await run(store, (each) => startedOver.push(each));
    expect(await reached(1n)).toBe(true);
    expect(startedOver).toEqual(['the views are ahead of the log']);
    expect([await sumOf(store, 's'), await sumOf(store, 'before')]).toEqual([undefined, 1]);
    await running.close();
    await store.close();
  });

  it('do not start over when another process projects an event just after the head of the log was read', async () => {
    const store = openStore();
    await store.prepare(models.map(({ collection }) => collection));
    await append({ stream: 's' });
    const at = (position: bigint) => ({ logId: log.logId, position });
    const name = 'counts.v1 tallies.v1';
    await store.write({ documents: [], checkpoints: [{ name, from: undefined, to: at(1n) }] });
    let isFirst = true;
    const head = async (): Promise<bigint> => {
      const found = await log.head();
      if (isFirst) {
        isFirst = false;
        await append({ stream: 's' });
        await store.write({ documents: [], checkpoints: [{ name, from: at(1n), to: at(2n) }] });
      }
      return found;
    };
    const startedOver: string[] = [];
    const { running } = await run(store, (each) => startedOver.push(each), { log: { ...log, head } });
    expect(startedOver).toEqual([]);
    await running.close();
    await store.close();
  });

  it('keep what they have, and wait, while a log not read from its file ends before their position', async () => {
    const store = await viewsAhead();
    const { isLocal: _, ...ofNodes } = log;
    const startedOver: string[] = [];
    const waits: string[] = [];
    const { running, reached } = await run(store, (each) => startedOver.push(each), {
      log: ofNodes,
      onWait: (reason) => waits.push(reason),
    });
    expect(waits).toEqual([logEndText(1n, 3n)]);
    await append({ stream: 'before' }, { stream: 'before' });
    expect(await reached(await append({ stream: 'after' }))).toBe(true);
    expect(startedOver).toEqual([]);
    expect([await sumOf(store, 's'), await sumOf(store, 'before'), await sumOf(store, 'after')]).toEqual([
      7,
      undefined,
      1,
    ]);
    await running.close();
    await store.close();
  });

  it('have no lag from events of other writers at the end of the log', async () => {
    const store = openStore();
    const { running, reached, progress } = await run(store);
    await reached(await append({ stream: 's' }));
    const id = Buffer.from('another writer’s'.padEnd(16).slice(0, 16), 'latin1');
    const foreign = { id, type: 'Theirs', data: Buffer.from('x'), metadata: 'no JSON' };
    const { position } = await log.append(streamName('theirs', ['s']), 'any', [foreign]);
    expect(await reached(position)).toBe(true);
    expect(progress.at(-1)).toEqual({ position, lagMs: 0, parked: 0 });
    await running.close();
    await running.ended;
    await store.close();
  });

  it('park streams that they cannot take, and try one again when asked', async () => {
    const store = openStore();
    let isRepaired = false;
    const decode: typeof tallyCodec.decode = (type, ...rest) =>
      tallyCodec.decode(isRepaired && type === 'Corrupt' ? 'Added' : type, ...rest);
    const codecs = new Map([['tally', { ...tallyCodec, decode }]]);
    const { running, reached, progress } = await run(store, undefined, { codecs });
    await reached(
      await append({ stream: 'bad', type: 'Corrupt' }, { stream: 'bad' }, { stream: 'other', type: 'Corrupt' }),
    );
    await running.retryParked(streamName('tally', ['bad']));
    expect(progress.at(-1)?.parked).toBe(2);

    isRepaired = true;
    await running.retryParked(streamName('tally', ['bad']));
    expect(progress.at(-1)?.parked).toBe(1);
    expect(running.parked().map(({ stream }) => stream)).toEqual(['tally-other']);
    expect(await sumOf(store, 'bad')).toBe(2);
    await reached(await append({ stream: 'bad' }));
    expect(await sumOf(store, 'bad')).toBe(3);
    await running.close();
    await store.close();
  });

  it.each(['null', 'no JSON', '{}', ''])('park a stream whose last event has the metadata %j', async (wrong) => {
    const store = openStore();
    const { running, reached, progress } = await run(store);
    const { type, data } = tallyCodec.encode({ parts: ['a'], amount: 1 });
    const event = { id: Buffer.from('a damaged event.'), type, data, metadata: wrong };
    await append({ stream: 'good' });
    const { position } = await log.append(streamName('tally', ['bad']), 'any', [event]);
    expect(await reached(position)).toBe(true);
    expect(running.parked().map(({ stream }) => stream)).toEqual(['tally-bad']);
    expect(progress.at(-1)).toEqual({ position, lagMs: 0, parked: 1 });
    await reached(await append({ stream: 'good' }));
    expect(await sumOf(store, 'good')).toBe(2);
    await running.close();
    await running.ended;
    await store.close();
  });

  it('park streams that they cannot take, and try them again when started', async () => {
    const store = openStore();
    const { running, reached, progress } = await run(store);
    const last = await append({ stream: 'bad', type: 'Corrupt' }, { stream: 'bad' }, { stream: 'good' });
    await reached(last);
    expect(progress.at(-1)?.parked).toBe(1);
    expect(running.parked().map(({ stream, position }) => [stream, position])).toEqual([['tally-bad', 1n]]);
    await running.close();

    const codec = { ...tallyCodec, decode: (_: string, data: Uint8Array) => tallyCodec.decode('Added', data, 1) };
    const again = await runProjections({
      ...sources,
      codecs: new Map([['tally', codec]]),
      log,
      readStore: store,
      now: () => 0,
      onProgress: () => undefined,
    });
    expect(again.parked()).toEqual([]);
    expect(await sumOf(store, 'bad')).toBe(2);
    await again.close();
    await store.close();
  });
});

describe('projections that share the partitions', () => {
  const NAMES = Array.from({ length: 40 }, (_, at) => `s${at}`);
  /** The partitions with an even number for 0, with an odd number for 1. */
  const half = (remainder: number) => PARTITIONS.filter((partition) => partition % 2 === remainder);
  /** The sums of all tallies of `NAMES`, in their order. */
  const sums = (store: ReadStore) => Promise.all(NAMES.map((name) => sumOf(store, name)));
  /** Appends an event with this amount to each stream of `NAMES`. */
  const appendToAll = (amount: number) => append(...NAMES.map((stream) => ({ stream, amount })));
  /** Waits until the stored checkpoints of all partitions are at the position. */
  const reachedAll = async (store: ReadStore, position: bigint): Promise<void> => {
    const starts = async () => {
      const progress = await storedProgress(store, { models: [tallies] });
      return PARTITIONS.map((partition) => progress.startOf('tallies', partition)?.checkpoint.position ?? 0n);
    };
    await until(starts, (positions) => positions.every((each) => each >= position));
  };
  /** Runs the projections of tallies in these partitions, with a connection of their own. */
  const runOnly = (partitions: readonly number[]) => run(openStore(), undefined, { models: [tallies], partitions });

  it('project together the events of all partitions', async () => {
    const [even, odd] = [await runOnly(half(0)), await runOnly(half(1))];
    const store = openStore();
    await reachedAll(store, await appendToAll(1));
    await reachedAll(store, await appendToAll(2));
    expect(await sums(store)).toEqual(NAMES.map(() => 3));
    await Promise.all([even.running.close(), odd.running.close()]);
  });

  it('leave out the events of other partitions', async () => {
    const even = await runOnly(half(0));
    const last = await appendToAll(1);
    expect(await even.reached(last)).toBe(true);
    const store = openStore();
    const expected = NAMES.map((name) => (viewPartitionOf(streamName('tally', [name])) % 2 === 0 ? 1 : undefined));
    expect(await sums(store)).toEqual(expected);
    expect(expected).toContain(undefined);
    await even.running.close();
  });

  it('hand partitions over, and resume each at its checkpoint', async () => {
    const one = await runOnly(PARTITIONS);
    await one.reached(await appendToAll(1));
    await one.running.assign(half(0));
    const behind = await appendToAll(2);
    await one.reached(behind);
    const two = await runOnly([]);
    await two.running.assign(half(1));
    const store = openStore();
    await reachedAll(store, behind);
    // Now one runner has all partitions again, at different positions.
    await two.running.assign([]);
    const last = await appendToAll(4);
    await one.running.assign(PARTITIONS);
    await reachedAll(store, last);
    expect(await sums(store)).toEqual(NAMES.map(() => 7));
    await Promise.all([one.running.close(), two.running.close()]);
  });

  it('count each event once when two runs have every partition', async () => {
    const [one, two] = [await runOnly(PARTITIONS), await runOnly(PARTITIONS)];
    let last = 0n;
    for (let round = 0; round < 5; round += 1) last = await appendToAll(1);
    const store = openStore();
    await reachedAll(store, last);
    expect(await sums(store)).toEqual(NAMES.map(() => 5));
    await Promise.all([one.running.close(), two.running.close()]);
    await Promise.all([one.running.ended, two.running.ended]);
  });

  it('go on from views with one checkpoint for all partitions', async () => {
    const store = openStore();
    await store.prepare([tallies.collection]);
    await appendToAll(1);
    const to = { logId: log.logId, position: await log.head() };
    await store.write({ documents: [], checkpoints: [{ name: 'tallies.v1', from: undefined, to }] });
    const { running, reached } = await runOnly(PARTITIONS);
    await reached(await appendToAll(2));
    // Events up to the recorded position are not projected again.
    expect(await sums(store)).toEqual(NAMES.map(() => 2));
    await running.close();
  });

  it('park and retry only streams of their own partitions', async () => {
    const own = NAMES.find((name) => viewPartitionOf(streamName('tally', [name])) % 2 === 0)!;
    const foreign = NAMES.find((name) => viewPartitionOf(streamName('tally', [name])) % 2 === 1)!;
    let isRepaired = false;
    const decode: typeof tallyCodec.decode = (type, ...rest) =>
      tallyCodec.decode(isRepaired && type === 'Corrupt' ? 'Added' : type, ...rest);
    const codecs = new Map([['tally', { ...tallyCodec, decode }]]);
    const [even, odd] = [
      await run(openStore(), undefined, { models: [tallies], partitions: half(0), codecs }),
      await run(openStore(), undefined, { models: [tallies], partitions: half(1), codecs }),
    ];
    const store = openStore();
    await append({ stream: own, type: 'Corrupt' }, { stream: foreign, type: 'Corrupt' });
    await reachedAll(store, await append({ stream: own }, { stream: foreign }));
    expect(even.running.parked().map(({ stream }) => stream)).toEqual([`tally-${own}`]);
    expect(odd.running.parked().map(({ stream }) => stream)).toEqual([`tally-${foreign}`]);
    isRepaired = true;
    await even.running.retryParked(streamName('tally', [foreign]));
    expect([await sumOf(store, own), await sumOf(store, foreign)]).toEqual([undefined, undefined]);
    await even.running.retryParked(streamName('tally', [own]));
    await odd.running.retryParked(streamName('tally', [foreign]));
    expect([await sumOf(store, own), await sumOf(store, foreign)]).toEqual([2, 2]);
    await Promise.all([even.running.close(), odd.running.close()]);
  });
});

describe('a rebuild', () => {
  /** Starts a rebuild of the views in the directory; `progress` is what it has reported. */
  const rebuild = (more: Partial<Parameters<typeof rebuildViews>[0]> = {}) => {
    const progress: RebuildProgress[] = [];
    const { fresh = freshSqliteViews({ directory }) } = more;
    const done = rebuildViews({ ...sources, log, onProgress: (each) => progress.push(each), ...more, fresh });
    return { done, progress };
  };

  /** The documents of tallies and counts, the order in which a list has the tallies, and their checkpoints. */
  const allViews = async () => {
    const store = openStore();
    await store.prepare([tallies.collection, counts.collection]);
    const keys = ['s', 't', 'u'].flatMap((stream) => ['a', 'b', 'c'].map((part) => `tally-${stream}/${part}`));
    const documents = await store.getMany(tallies.collection, keys);
    const counted = await store.getMany(counts.collection, ['tally-s', 'tally-t', 'tally-u']);
    const query = { where: [], orderBy: { field: 'sum', direction: 'ascending' }, limit: 100 } as const;
    const { elements } = await store.find(tallies.collection, query);
    const progress = await storedProgress(store, sources);
    const reached = PARTITIONS.map((partition) => progress.startOf('tallies', partition));
    await store.close();
    const byKey = (some: readonly StoredDocument[]) => some.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    return { documents: byKey(documents), counted: byKey(counted), elements, reached };
  };

  /** Projects the log up to its head, as a process that follows it does. */
  const followLog = async () => {
    const store = openStore();
    const { running, reached } = await run(store);
    await reached(await log.head());
    await running.close();
    await store.close();
  };

  beforeEach(async () => {
    await append({ stream: 's', parts: ['a', 'b'] }, { stream: 't', amount: 5 }, { stream: 's', amount: 3 });
    await append({ stream: 'u', type: 'Ignored' }, { stream: 'u', parts: ['c'] });
  });

  it('makes the same views as following the log, and keeps the old ones', async () => {
    await followLog();
    const followed = await allViews();
    const { done, progress } = rebuild();
    expect(await done).toEqual({ position: 5n, events: 5, verifiedStreams: 3 });
    expect(await allViews()).toEqual(followed);
    expect(progress).toContainEqual({ phase: 'build', done: 5, total: 5, count: 5 });
    expect(progress.at(-1)).toEqual({ phase: 'verify', done: 3, total: 3, count: 3 });
    expect(existsSync(join(directory, PREVIOUS_FILE))).toBe(true);
  });

  /** Starts a rebuild whose partitions are divided into `shares` shares, all on this thread. */
  const rebuildShared = (shares: number, some: Partial<typeof sources> = {}) => {
    const fresh = freshSqliteViews({ directory });
    const [first, ...rest] = sharesOf(shares);
    const others = rest.map((partitions) => ({
      ...shareBuilder({ ...sources, ...some, log, store: fresh.store, partitions, verifiedStreams: 100 }),
      close: () => Promise.resolve(),
    }));
    return rebuild({ ...some, fresh, partitions: first ?? [], others });
  };

  it.each([2, 3])('makes the same views in %d shares', async (shares) => {
    await append(...Array.from({ length: 40 }, (_, index) => ({ stream: `more-${index}`, parts: ['a'] })));
    await followLog();
    const followed = await allViews();
    const { done, progress } = rebuildShared(shares);
    expect(await done).toEqual({ position: 45n, events: 45, verifiedStreams: 43 });
    expect(await allViews()).toEqual(followed);
    expect(progress.at(-1)).toEqual({ phase: 'verify', done: 43, total: 43, count: 43 });
  });

  it('makes views where there were none, also of an empty log', async () => {
    await rebuild().done;
    expect((await allViews()).documents).toHaveLength(4);
    await log.close();
    directory = mkdtempSync(join(tmpdir(), 'flightlog-runner-'));
    log = await sqliteEventStore({ directory });
    expect(await rebuild().done).toEqual({ position: 0n, events: 0, verifiedStreams: 0 });
  });

  it('makes whole views where the file of the views was removed and its write-ahead log was not', async () => {
    await followLog();
    // In directories that this process has not opened: its open connections would decide what is read of the files.
    const [built, opened] = ['built', 'opened'].map((name) => join(directory, name)) as [string, string];
    mkdirSync(built);
    copyFileSync(join(directory, 'views.db-wal'), join(built, 'views.db-wal'));
    const end = await append({ stream: 't', amount: 7 });
    await rebuild({ fresh: freshSqliteViews({ directory: built }) }).done;
    cpSync(built, opened, { recursive: true });
    const store = sqliteReadStore({ directory: opened, mode: 'read-only' });
    expect(await sumOf(store, 't')).toBe(12);
    const progress = await storedProgress(store, sources);
    expect(progress.startOf('tallies', 0)?.checkpoint.position).toBe(end);
    await store.close();
  });

  it('stops at an event that a view cannot take, and leaves the views in use as they are', async () => {
    await followLog();
    const followed = await allViews();
    await append({ stream: 's', type: 'Refused' });
    await expect(rebuild().done).rejects.toThrow(
      'the views cannot process Refused at position 6 of stream tally-s: this tally is refused',
    );
    expect(await allViews()).toEqual(followed);
  });

  it('fails with a fault where the file of an earlier rebuild cannot be deleted', () => {
    mkdirSync(join(directory, 'views.growing.db'));
    expect(() => freshSqliteViews({ directory })).toThrow(StoreUnavailable);
  });

  it('says why it stopped, also when the new views cannot be deleted then', async () => {
    await append({ stream: 's', type: 'Refused' });
    const fresh = freshSqliteViews({ directory });
    const discard = async (): Promise<void> => {
      await fresh.discard();
      throw new StoreUnavailable('the views cannot be deleted');
    };
    await expect(rebuild({ fresh: { ...fresh, discard } }).done).rejects.toThrow(
      /^the views cannot process Refused at/u,
    );
  });

  it('stops, too, when a view cannot take an event of another share, and puts no views in place', async () => {
    const [first = []] = sharesOf(4);
    const names = Array.from({ length: 40 }, (_, at) => `bad-${at}`);
    const stream = names.find((name) => !first.includes(viewPartitionOf(streamName('tally', [name]))))!;
    await append({ stream, type: 'Refused' });
    await expect(rebuildShared(4).done).rejects.toThrow(/^the views cannot process Refused at position/u);
    expect(existsSync(join(directory, 'views.db'))).toBe(false);
  });

  it.each([
    ['in memory', 10_000, 0],
    ['in memory, as far as they fit', 1_700, 2],
    ['in the log', 0, 3],
  ])('verifies with events %s (at most %d bytes), and reads %d streams again', async (_, heldBytes, streamsRead) => {
    const read: string[] = [];
    const readStream: typeof log.readStream = (stream, options) => {
      read.push(stream);
      return log.readStream(stream, options);
    };
    await rebuild({ log: { ...log, readStream }, heldBytes }).done;
    expect(read).toHaveLength(streamsRead);
  });

  it.each([
    ['a document with another response', 'a', 0, 'its stored parts differ: response'],
    ['a document that is missing', 'b', 0, 'it is missing'],
    ['a document that is missing, with the events in memory', 'b', 10_000, 'it is missing'],
  ])('is refused for %s', async (_, part, heldBytes, reason) => {
    await followLog();
    const followed = await allViews();
    const fresh = freshSqliteViews({ directory });
    const lossy = {
      ...fresh,
      store: {
        ...fresh.store,
        write: (batch: Parameters<ReadStore['write']>[0]) =>
          fresh.store.write({
            ...batch,
            documents: batch.documents
              .filter(({ document }) => part === 'a' || !document.key.endsWith('/b'))
              .map(({ collection, document }) => ({
                collection,
                document:
                  document.key.endsWith('/a') && part === 'a' ? { ...document, response: Buffer.from('') } : document,
              })),
          }),
      },
    };
    await expect(rebuild({ fresh: lossy, heldBytes }).done).rejects.toThrow(
      new RegExp(`the view tallies is wrong about tally-[st]/${part}: ${reason}$`, 'u'),
    );
    expect(await allViews()).toEqual(followed);
  });

  describe('of documents that several streams feed', () => {
    const models = [...sources.models, totals];
    const key = 'total/a';

    it('folds the events of all of them', async () => {
      await rebuild({ models }).done;
      const store = openStore();
      const { fields, position } = (await store.get(totals.collection, key))!;
      expect([fields['sum'], position]).toEqual([9, 3n]);
      await store.close();
    });

    it.each([
      ['it is missing', () => []],
      [
        'its stored parts differ: response',
        (put: DocumentWrite) => [{ ...put, document: { ...put.document, response: Buffer.from('') } }],
      ],
      [
        'it contains events up to position 2, not 3',
        (put: DocumentWrite) => [{ ...put, document: { ...put.document, position: 2n } }],
      ],
    ])(
      'is refused where such a document is wrong: %s',
      async (reason, spoilt: (put: DocumentWrite) => readonly DocumentWrite[]) => {
        const fresh = freshSqliteViews({ directory });
        const write: ReadStore['write'] = ({ documents, ...rest }) =>
          fresh.store.write({
            ...rest,
            documents: documents.flatMap((put) => (put.document.key === key ? spoilt(put) : [put])),
          });
        const lossy = { ...fresh, store: { ...fresh.store, write } };
        await expect(rebuild({ models, fresh: lossy }).done).rejects.toThrow(
          `the view totals is wrong about ${key}: ${reason}`,
        );
      },
    );

    it('verifies at most 16 of 1,000 such documents', async () => {
      const documents: string[] = [];
      const store = openStore();
      const watched: ReadStore = {
        ...store,
        getMany: (_, keys) => {
          documents.push(...keys);
          return Promise.resolve([]);
        },
      };
      const { see, verify } = sharedVerifier([totals], 16);
      const names = Array.from({ length: 1_000 }, (_, at) => `p${at}`);
      for (const event of recorded(names.map((part) => ({ stream: part, parts: [part] })))) {
        const entry = await eventReader({ ...sources, models: [totals] })(event);
        see(entry!);
      }
      await expect(verify(watched)).rejects.toThrow('it is missing');
      expect(documents.length).toBeGreaterThan(4);
      expect(documents.length).toBeLessThanOrEqual(16);
      await store.close();
    });
  });

  it('leaves views that go on from its position, with the later events alone', async () => {
    await rebuild().done;
    await append({ stream: 't', amount: 100 });
    tallyCodec.decoded = 0;
    await followLog();
    expect(tallyCodec.decoded).toBe(1);
    const store = openStore();
    expect(await sumOf(store, 't')).toBe(105);
    await store.close();
  });
});
