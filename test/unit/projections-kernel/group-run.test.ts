import { beforeEach, describe, expect, it } from 'vitest';
import { isMoved, retryWhileUnavailable } from '../../../projections/runtime/runs/group-run.js';
import {
  type PartitionRunOptions,
  type RunProgress,
  runPartitions,
} from '../../../projections/runtime/runs/partition-run.js';
import { checkpointName, MAX_POSITION, PARTITIONS, viewPartitionOf } from '../../../projections/runtime/partitions.js';
import { projector } from '../../../projections/runtime/projector.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { ReadStore } from '../../../projections/runtime/read-store.js';
import { runProjections, type RunnerOptions } from '../../../projections/runtime/runs/runner.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { CheckpointMoved, StoreUnavailable } from '../../../services/kernel/fault.js';
import type { EventLog, LogPage } from '../../../services/kernel/ports/event-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import { until } from '../../support/until.js';
import { counts, metadata, noPayloads, recorded, tallies, tallyCodec, totals } from './tallies.js';

const models: readonly ReadModel<unknown>[] = [tallies, counts];
const codecs = new Map([['tally', tallyCodec]]);
/** The time of each run; events are recorded at 1,000 ms unless a test says otherwise, so that their lag is 4,000. */
const NOW_MS = 5_000;
const even = PARTITIONS.filter((partition) => partition % 2 === 0);
/** True for events of streams in a partition with an even number. */
const ofEven = ({ stream }: RecordedEvent): boolean => viewPartitionOf(stream) % 2 === 0;

let store: ReadStore;
beforeEach(async () => {
  store = sqliteReadStore({ directory: undefined, mode: 'read-write' });
  await store.prepare(models.map(({ collection }) => collection));
});

/** An event of another application, whose metadata is its own. */
const foreign = (position: bigint): RecordedEvent => ({
  ...recorded([{ stream: 's' }])[0]!,
  ...{ stream: streamName('theirs', ['s']), metadata: 'no JSON', position },
});

type ScriptedLog = {
  readonly log: EventLog;
  /** Gives a page to a subscription, by its number from 0; the first by default. Resolves when it is processed. */
  readonly deliver: (events: readonly RecordedEvent[], more?: Partial<LogPage>, subscription?: number) => Promise<void>;
  /** Fails a subscription, by its number from 0; the first by default. */
  readonly fail: (error: Error, subscription?: number) => void;
  /** The positions after which runs have subscribed, in order. */
  readonly subscribed: bigint[];
  /** The number of times that the head was asked for. */
  headReads: number;
};

/** A log whose subscriptions get the pages that the test delivers; `all` are its events for other reads. */
const scriptedLog = (all: readonly RecordedEvent[] = [], more: Partial<EventLog> = {}): ScriptedLog => {
  const handlers: ((page: LogPage) => Promise<void> | void)[] = [];
  const failures: ((error: Error) => void)[] = [];
  const scripted: ScriptedLog = {
    subscribed: [],
    headReads: 0,
    fail: (error, subscription = 0) => failures[subscription]!(error),
    deliver: async (events, page = {}, subscription = 0) => {
      const position = events.at(-1)?.position ?? 0n;
      await handlers[subscription]!({ events, position, hasNext: false, ...page });
    },
    log: {
      logId: 'log',
      head: () => {
        scripted.headReads += 1;
        return Promise.resolve(BigInt(all.length));
      },
      subscribe: ({ after }, onPage) => {
        scripted.subscribed.push(after);
        handlers.push((page) => onPage(page, true));
        let endSubscription = (): void => undefined;
        const ended = new Promise<void>((resolve, reject) => {
          endSubscription = resolve;
          failures.push(reject);
        });
        return { ended, close: () => (endSubscription(), ended.catch(() => undefined)) };
      },
      async *readStream(stream) {
        yield await Promise.resolve(all.filter((event) => event.stream === stream));
      },
      async *readLog({ after }) {
        for (const event of all.filter(({ position }) => position > after))
          yield await Promise.resolve({ events: [event], position: event.position });
      },
      ...more,
    } as Partial<EventLog> as EventLog,
  };
  return scripted;
};

/** Starts a run of the partitions; `progress` is what it has reported. */
const start = async (log: EventLog, more: Partial<PartitionRunOptions> = {}, partitions = PARTITIONS) => {
  const progress: RunProgress[] = [];
  const options: PartitionRunOptions = {
    ...{ log, readStore: store, codecs, payloads: noPayloads, models },
    now: () => NOW_MS,
    onProgress: (each) => progress.push(each),
    serially: (work) => work(),
    isClosed: () => false,
    ...more,
  };
  return { run: await runPartitions(options, partitions), progress };
};

/** Stores checkpoints of the views with this name, as of a run before. */
const storeCheckpoints = (name: string, position: bigint, partitions = PARTITIONS): Promise<void> =>
  store.write({
    documents: [],
    checkpoints: partitions.map((partition) => ({
      name: checkpointName(name, partition),
      from: undefined,
      to: { logId: 'log', position },
    })),
  });

describe('a run of partitions', () => {
  it('reports after each commit how long ago the last event was recorded that a codec reads', async () => {
    const [one, two, three] = recorded([{ stream: 's' }, { stream: 's' }, { stream: 's' }]);
    const { log, deliver } = scriptedLog();
    const { run, progress } = await start(log);
    await deliver([one!, foreign(2n)]);
    await deliver([{ ...two!, position: 3n }], { hasNext: true });
    await deliver([foreign(4n)]);
    await deliver([{ ...three!, position: 5n, metadata: metadata(9_000) }]);
    await deliver([foreign(6n)]);
    expect(progress).toEqual(
      [
        [0n, 0],
        [2n, 4_000],
        [4n, 4_000],
        [5n, 0],
        [6n, 0],
      ].map(([position, lagMs]) => ({ position, lagMs, parked: 0 })),
    );
    expect([run.position(), run.partitions]).toEqual([6n, PARTITIONS]);
    await run.close();
    expect(await run.ended).toBe(false);
  });

  // A batch of 32 events is large.
  it.each([
    ['is large and at the head', 32, 1, { hasNext: false }],
    ['is small and at the head', 31, 0, { hasNext: false }],
    ['is large and reaches the head that the log gives', 40, 1, {}],
  ])('after a batch that %s, of %d events, makes %d pauses', async (_, count, pauses, page) => {
    const events = recorded(Array.from({ length: count }, () => ({ stream: 's' })));
    const { log, deliver } = scriptedLog(events);
    let paused = 0;
    const { run } = await start(log, { pauseAfterLarge: () => Promise.resolve(void (paused += 1)) });
    await deliver(events, { hasNext: undefined as never, ...page });
    expect(paused).toBe(pauses);
    await run.close();
  });

  it('does not pause behind the head, and counts the events of all pages of a batch', async () => {
    const events = recorded(Array.from({ length: 80 }, () => ({ stream: 's' })));
    const { log, deliver } = scriptedLog(recorded(Array.from({ length: 81 }, () => ({ stream: 's' }))));
    let paused = 0;
    const pauseAfterLarge = (): Promise<void> => Promise.resolve(void (paused += 1));
    const { run, progress } = await start(log, { pauseAfterLarge });
    await deliver(events.slice(0, 40), { hasNext: undefined as never });
    expect([paused, progress.length]).toEqual([0, 1]);
    await deliver(events.slice(40, 45));
    expect([paused, progress.length]).toEqual([1, 2]);
    await deliver(events.slice(45, 50));
    expect(paused).toBe(1);
    await deliver(events.slice(50, 80).concat(recorded([{ stream: 's' }, { stream: 's' }])), { position: 82n });
    expect(paused).toBe(2);
    await run.close();
  });

  it('goes on when no function for pauses is given', async () => {
    const events = recorded(Array.from({ length: 32 }, () => ({ stream: 's' })));
    const { log, deliver } = scriptedLog();
    const { run } = await start(log);
    await deliver(events);
    expect(run.position()).toBe(32n);
    await run.close();
  });

  it('does not read the head when the page says whether more events follow', async () => {
    const scripted = scriptedLog();
    const { run } = await start(scripted.log);
    await scripted.deliver(recorded([{ stream: 's' }]));
    expect(scripted.headReads).toBe(0);
    await run.close();
  });

  it('moves its checkpoints after 20,000 events of the log though none of them is its own', async () => {
    const others = recorded(Array.from({ length: 40 }, (_, at) => ({ stream: `s${at}` }))).filter(
      (each) => !ofEven(each),
    );
    const page = Array.from({ length: 5_000 }, () => others[0]!);
    const { log, deliver } = scriptedLog();
    const { run, progress } = await start(log, {}, even);
    for (let pages = 1; pages <= 5; pages += 1) await deliver(page, { position: BigInt(pages * 5_000), hasNext: true });
    expect(progress.map(({ position }) => position)).toEqual([0n, 20_000n]);
    for (let pages = 6; pages <= 8; pages += 1) await deliver(page, { position: BigInt(pages * 5_000), hasNext: true });
    expect(progress.map(({ position }) => position)).toEqual([0n, 20_000n, 40_000n]);
    await run.close();
  });

  it('projects only the events of its own partitions', async () => {
    const events = recorded(Array.from({ length: 20 }, (_, at) => ({ stream: `s${at}` })));
    const { log, deliver } = scriptedLog();
    const { run } = await start(log, {}, even);
    await deliver(events);
    const found = await store.getMany(
      counts.collection,
      events.map(({ stream }) => stream),
    );
    expect(found.map(({ key }) => key).toSorted()).toEqual(
      events
        .filter(ofEven)
        .map(({ stream }) => stream)
        .toSorted(),
    );
    await run.close();
  });

  it('without partitions has the largest position, and runs until it is closed', async () => {
    const scripted = scriptedLog();
    const { run, progress } = await start(scripted.log, {}, []);
    expect([run.position(), progress, scripted.subscribed]).toEqual([
      MAX_POSITION,
      [{ position: MAX_POSITION, lagMs: 0, parked: 0 }],
      [],
    ]);
    await run.close();
    expect(await run.ended).toBe(false);
  });

  it('writes again what the store refused, until it is closed', async () => {
    const [event] = recorded([{ stream: 's' }]);
    let refusals = 2;
    const refusing: ReadStore = {
      ...store,
      write: (batch) => {
        refusals -= 1;
        return refusals >= 0 ? Promise.reject(new StoreUnavailable('full')) : store.write(batch);
      },
    };
    const times: number[] = [];
    let isClosed = false;
    const { log, deliver } = scriptedLog();
    const { run, progress } = await start(log, {
      readStore: refusing,
      isClosed: () => isClosed,
      onUnavailable: (_, time) => {
        times.push(time);
        return Promise.resolve();
      },
    });
    await deliver([event!]);
    expect([times, run.position(), progress.length]).toEqual([[1, 2], 1n, 2]);
    isClosed = true;
    await deliver([{ ...event!, position: 2n }]);
    expect([run.position(), progress.length]).toEqual([1n, 2]);
    await run.close();
  });

  it('asks again for the head of the log when the log is unavailable, until it is closed', async () => {
    const [event] = recorded([{ stream: 's' }]);
    let isClosed = false;
    const times: number[] = [];
    let failures = 2;
    const { log, deliver } = scriptedLog([event!], {
      head: () => {
        failures -= 1;
        return failures >= 0 ? Promise.reject(new StoreUnavailable('locked')) : Promise.resolve(1n);
      },
    });
    const { run } = await start(log, {
      isClosed: () => isClosed,
      onUnavailable: (_, time) => {
        times.push(time);
        return Promise.resolve();
      },
    });
    await deliver([event!], { hasNext: undefined as never });
    expect([times, run.position()]).toEqual([[1, 2], 1n]);
    isClosed = true;
    await deliver([{ ...event!, position: 2n }], { hasNext: undefined as never });
    expect(run.position()).toBe(1n);
    await run.close();
  });

  it('ends with the error of its subscription, or when another process has moved a checkpoint', async () => {
    const failing = scriptedLog();
    const { run } = await start(failing.log);
    failing.fail(new StoreUnavailable('no log'));
    await expect(run.ended).rejects.toThrow('no log');
    await run.close();
    const shared = scriptedLog();
    const moved = await start(shared.log);
    shared.fail(new CheckpointMoved('moved'));
    expect(await moved.run.ended).toBe(true);
  });

  it('retries all parked streams as it begins, and one when it is asked to', async () => {
    const events = recorded([
      { stream: 's', type: 'FromTheFuture' },
      { stream: 't', type: 'FromTheFuture' },
      { stream: 's' },
    ]);
    const before = await projector({
      ...{ readStore: store, logId: 'log', codecs, payloads: noPayloads, models },
      onPoison: 'park',
    });
    await before.take(events, 3n);
    let isKnown = false;
    const decode: typeof tallyCodec.decode = (type, ...rest) => tallyCodec.decode(isKnown ? 'Added' : type, ...rest);
    const more = { codecs: new Map([['tally', { ...tallyCodec, decode }]]) };
    const { run, progress } = await start(scriptedLog(events).log, more);
    expect([progress.at(-1)?.parked, run.parked().map(({ stream }) => stream)]).toEqual([2, ['tally-s', 'tally-t']]);
    isKnown = true;
    await run.retryParked(streamName('tally', ['u']));
    expect(progress.at(-1)?.parked).toBe(2);
    await run.retryParked(streamName('tally', ['s']));
    expect([progress.at(-1)?.parked, run.parked().map(({ stream }) => stream)]).toEqual([1, ['tally-t']]);
    expect((await store.get(counts.collection, 'tally-s'))?.position).toBe(3n);
    await run.close();
    const next = await start(scriptedLog(events).log, more);
    expect([next.progress[0]?.parked, next.run.parked()]).toEqual([0, []]);
    await next.run.close();
  });

  it('keeps the lag when a parked stream is retried', async () => {
    const events = recorded([{ stream: 's', type: 'FromTheFuture' }, { stream: 't' }]);
    const { log, deliver } = scriptedLog(events);
    const { run, progress } = await start(log);
    await deliver(events);
    await run.retryParked(streamName('tally', ['s']));
    expect(progress.map(({ lagMs, parked }) => [lagMs, parked])).toEqual([
      [0, 0],
      [4_000, 1],
      [4_000, 1],
    ]);
    await run.close();
  });

  it('opens again when another process moves a checkpoint as it opens, and fails with any other error', async () => {
    await storeCheckpoints('tallies.v1', 4n);
    await storeCheckpoints('counts.v1', 4n);
    let refusals = 2;
    const refusing = (error: Error): ReadStore => ({
      ...store,
      write: (batch) => {
        refusals -= 1;
        return refusals >= 0 ? Promise.reject(error) : store.write(batch);
      },
    });
    const { run } = await start(scriptedLog().log, { readStore: refusing(new CheckpointMoved('moved')) });
    expect([run.position(), refusals]).toEqual([4n, -1]);
    await run.close();
    await store.clear();
    await storeCheckpoints('tallies.v1', 4n);
    refusals = 1;
    await expect(start(scriptedLog().log, { readStore: refusing(new TypeError('broken')) })).rejects.toThrow('broken');
  });
});

describe('views that are built beside others', () => {
  // 20 streams with 30 events each. Groups that are being built write once they have 250 events.
  const events = recorded(Array.from({ length: 600 }, (_, at) => ({ stream: `s${at % 20}` })));

  it('are projected in small batches with pauses, reported apart, and join the views in service at the position of those', async () => {
    await storeCheckpoints('tallies.v1', 600n);
    const { log, deliver, subscribed } = scriptedLog(events);
    let pauses = 0;
    const { run, progress } = await start(log, {
      pauseAfterBuilding: () => Promise.resolve(void (pauses += 1)),
      pauseAfterLarge: () => Promise.reject(new Error('not of views that are built')),
    });
    expect(subscribed).toEqual([600n, 0n]);
    expect(progress).toEqual([{ position: 600n, lagMs: 0, parked: 0, building: new Map([['counts', 0n]]) }]);
    const page = (from: number, to: number) => deliver(events.slice(from, to), { hasNext: true }, 1);
    await page(0, 249);
    expect([pauses, progress.length]).toEqual([0, 1]);
    await page(249, 250);
    expect([pauses, progress.length]).toEqual([1, 2]);
    expect(progress.at(-1)).toEqual({ position: 600n, lagMs: 0, parked: 0, building: new Map([['counts', 250n]]) });
    await page(250, 599);
    await page(599, 600); // up to the position of the views in service: refused, and the run ends
    await page(0, 600);
    expect(await run.ended).toBe(false);
    expect(run.position()).toBe(600n);
    const joined = await start(scriptedLog(events).log);
    expect(joined.progress).toEqual([{ position: 600n, lagMs: 0, parked: 0 }]);
    const { response } = (await store.get(counts.collection, 'tally-s0'))!;
    expect(Buffer.from(response).toString()).toBe('30');
    await joined.run.close();
  });

  it('may have batches of another size', async () => {
    await storeCheckpoints('tallies.v1', 600n);
    const { log, deliver } = scriptedLog(events);
    const { run, progress } = await start(log, { buildingEvents: 10 });
    await deliver(events.slice(0, 9), { hasNext: true }, 1);
    expect(progress).toHaveLength(1);
    await deliver(events.slice(9, 10), { hasNext: true }, 1);
    expect(progress).toHaveLength(2);
    await run.close();
    expect(await run.ended).toBe(false);
  });

  it('do not change the lag of the views in service', async () => {
    await storeCheckpoints('tallies.v1', 300n);
    const { log, deliver } = scriptedLog(events);
    const { run, progress } = await start(log);
    await deliver(events.slice(300, 301));
    expect(progress.at(-1)?.lagMs).toBe(4_000);
    await deliver(
      events.slice(0, 10).map((event) => ({ ...event, metadata: metadata(1) })),
      {},
      1,
    );
    expect(progress.at(-1)).toMatchObject({ position: 301n, lagMs: 4_000, building: new Map([['counts', 10n]]) });
    await run.close();
  });

  it('are reported at the lowest position of their partitions', async () => {
    await storeCheckpoints('tallies.v1', 600n);
    await storeCheckpoints('counts.v1', 20n, even);
    const { progress, run } = await start(scriptedLog(events).log);
    expect(progress[0]?.building).toEqual(new Map([['counts', 0n]]));
    await run.close();
  });

  it('are reported each at its own position', async () => {
    await storeCheckpoints('tallies.v1', 600n);
    await storeCheckpoints('counts.v1', 20n);
    const { progress, run } = await start(scriptedLog(events).log, { models: [...models, totals] });
    expect(progress.map(({ building }) => building)).toEqual([
      new Map([
        ['counts', 20n],
        ['totals', 0n],
      ]),
    ]);
    await run.close();
  });

  it('are reported by name where several are built together', async () => {
    await storeCheckpoints('tallies.v1', 600n);
    const { progress, run } = await start(scriptedLog(events).log, { models: [...models, totals] });
    expect(progress[0]?.building).toEqual(
      new Map([
        ['counts', 0n],
        ['totals', 0n],
      ]),
    );
    await run.close();
  });

  it('are reported once at the start, also where they are in service in some partitions', async () => {
    await storeCheckpoints('tallies.v1', 600n);
    await storeCheckpoints('counts.v1', 600n, even);
    const { progress, run } = await start(scriptedLog(events).log);
    expect(progress.map(({ position, building }) => [position, building?.get('counts')])).toEqual([[600n, 0n]]);
    await run.close();
  });

  it('count a stream once that the views in service have parked too, at the position where those have parked it', async () => {
    await storeCheckpoints('tallies.v1', 5n);
    const parked = (views: string, position: bigint) => ({
      ...{ views, stream: 'tally-s', from: undefined },
      to: { position, reason: views },
    });
    const viewsTogether = 'counts.v1 tallies.v1'; // the name of the group of both views
    const bad = recorded([
      { stream: 's', type: 'FromTheFuture' },
      { stream: 's', type: 'FromTheFuture' },
    ]);
    const first = await start(scriptedLog(bad).log);
    await first.run.close();
    const groups = [...(await store.checkpoints()).keys()].map((name) => name.replace(/ \d\/8$/u, ''));
    const own = groups.find((name) => name.startsWith('tallies.v1 @'))!;
    const checkpoints = [{ name: checkpointName('other', 0), from: undefined, to: { logId: 'log', position: 1n } }];
    await store.write({ documents: [], checkpoints, parked: [parked(own, 2n), parked(viewsTogether, 1n)] });
    const scripted = scriptedLog(bad);
    const { run, progress } = await start(scripted.log);
    await scripted.deliver(bad, {}, 1);
    expect(progress.at(-1)?.parked).toBe(1);
    expect(run.parked()).toMatchObject([{ views: own, position: 2n }]);
    await run.close();
  });

  it('are brought to the position of the views in service as far as the log goes, with a pause where it ends before that', async () => {
    await storeCheckpoints('tallies.v1', 300n);
    let pauses = 0;
    const lagging = scriptedLog(events.slice(0, 200));
    const { run } = await start(lagging.log, { pauseAfterBuilding: () => Promise.resolve(void (pauses += 1)) });
    await lagging.deliver([], { position: 300n }, 1);
    await run.ended;
    expect(pauses).toBe(1);
    const reads: bigint[] = [];
    let pages = 0;
    // No page of the log ends where the views in service are.
    async function* readLog({ after }: { readonly after: bigint }): AsyncGenerator<LogPage> {
      reads.push(after);
      for (let start = Number(after); start < events.length; start += 7) {
        const page = events.slice(start, start + 7);
        pages += 1;
        yield await Promise.resolve({ events: page, position: page.at(-1)!.position });
      }
    }
    const whole = scriptedLog(events, { readLog });
    const next = await start(whole.log, { pauseAfterBuilding: () => Promise.resolve(void (pauses += 1)) });
    await whole.deliver([], { position: 300n }, 1);
    await next.run.ended;
    expect(pauses).toBe(1);
    expect([reads, pages]).toEqual([[200n], 15]); // the views in service read nothing, and no group reads on after 300
    const joined = await start(scriptedLog(events).log);
    expect(joined.progress[0]).toEqual({ position: 300n, lagMs: 0, parked: 0 });
    const { response } = (await store.get(counts.collection, 'tally-s0'))!;
    expect(Buffer.from(response).toString()).toBe('15');
    expect((await store.get(counts.collection, 'tally-s19'))?.position).toBe(300n);
    await joined.run.close();
  });

  it('are written before they are brought to the position of the views in service, when events were gathered', async () => {
    await storeCheckpoints('tallies.v1', 300n);
    const reads: bigint[] = [];
    const scripted = scriptedLog(events);
    const readLog: EventLog['readLog'] = (from) => {
      reads.push(from.after);
      return scripted.log.readLog(from);
    };
    const { run } = await start({ ...scripted.log, readLog });
    await scripted.deliver(events.slice(0, 100), { hasNext: true }, 1);
    await scripted.deliver([], { position: 300n }, 1);
    expect(await run.ended).toBe(false);
    expect(reads).toEqual([100n]);
    const { position, response } = (await store.get(counts.collection, 'tally-s19'))!;
    expect([position, Buffer.from(response).toString()]).toEqual([300n, '15']);
  });

  it('are brought to the position of the views in service without pauses too, and no further once the run is closed', async () => {
    await storeCheckpoints('tallies.v1', 300n);
    let isClosed = false;
    let pages = 0;
    async function* readLog(): AsyncGenerator<LogPage> {
      for (const event of events) {
        pages += 1;
        isClosed = pages === 3;
        yield await Promise.resolve({ events: [event], position: event.position });
      }
    }
    const scripted = scriptedLog(events, { readLog });
    const { run } = await start(scripted.log, { isClosed: () => isClosed });
    await scripted.deliver([], { position: 300n }, 1);
    expect([await run.ended, pages]).toEqual([false, 3]);
    expect((await store.get(counts.collection, 'tally-s1'))?.position).toBe(2n);
    expect(await store.get(counts.collection, 'tally-s2')).toBeUndefined();
  });

  it('are not brought to the position of the views in service when the run is closed', async () => {
    await storeCheckpoints('tallies.v1', 300n);
    const scripted = scriptedLog(events, {
      readLog: () => {
        throw new Error('the log is not read');
      },
    });
    const { run } = await start(scripted.log);
    await Promise.all([scripted.deliver([], { position: 300n }, 1), run.close()]);
    expect(await run.ended).toBe(false);
  });
});

describe('work that is retried', () => {
  /** Makes work that fails `times` times, and then resolves with `done`. */
  const failing = (times: number, error: Error = new StoreUnavailable('full')) => {
    let failures = times;
    return () => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(error) : Promise.resolve('done');
    };
  };
  const never = (): boolean => false;

  it('is done again while the store is unavailable, and says how often it failed', async () => {
    const reported: (readonly [string, number])[] = [];
    const onUnavailable = (reason: StoreUnavailable, times: number) =>
      Promise.resolve(void reported.push([reason.message, times]));
    expect(await retryWhileUnavailable(failing(2), onUnavailable, never)).toBe('done');
    expect(reported).toEqual([
      ['full', 1],
      ['full', 2],
    ]);
  });

  it('fails at once with any other error, and when no function is given to be called', async () => {
    const onUnavailable = () => Promise.reject(new Error('not called'));
    await expect(retryWhileUnavailable(failing(1, new TypeError('broken')), onUnavailable, never)).rejects.toThrow(
      'broken',
    );
    await expect(retryWhileUnavailable(failing(1), undefined, never)).rejects.toThrow('full');
  });

  it('is given up once the run is closed', async () => {
    let isClosed = false;
    const onUnavailable = () => Promise.resolve(void (isClosed = true));
    expect(await retryWhileUnavailable(failing(9), onUnavailable, () => isClosed)).toBeUndefined();
  });
});

describe('the error of a run', () => {
  it('is taken as a moved checkpoint when it is one, and is thrown again otherwise', () => {
    expect(isMoved(new CheckpointMoved('moved'))).toBe(true);
    const other = new Error('other');
    expect(() => isMoved(other)).toThrow(other);
  });
});

describe('a runner', () => {
  /** The name under which both views, as one group, store their checkpoints. */
  const viewsTogether = 'counts.v1 tallies.v1';
  const events = recorded([{ stream: 's' }, { stream: 's' }, { stream: 's' }]);
  const movedElsewhere = new CheckpointMoved('moved');

  /** Starts a runner; `reported` are the reasons that its callbacks were given. */
  const open = async (log: EventLog, more: Partial<RunnerOptions> = {}) => {
    const reported: string[] = [];
    const running = await runProjections({
      ...{ log, readStore: store, codecs, payloads: noPayloads, models },
      now: () => NOW_MS,
      onProgress: () => undefined,
      onStartOver: (reason) => reported.push(reason),
      onWait: (reason) => reported.push(reason),
      onRefused: () => reported.push('refused'),
      ...more,
    });
    return { running, reported };
  };
  /** Waits until the log has been subscribed `times` times. */
  const untilSubscribed = (scripted: ScriptedLog, times: number) =>
    until(
      () => Promise.resolve(scripted.subscribed.length),
      (count) => count >= times,
    );

  it('goes on from the stored checkpoints when another process has moved them, and says so', async () => {
    const scripted = scriptedLog(events);
    const { running, reported } = await open(scripted.log);
    const other = await open(scriptedLog(events).log);
    await scripted.deliver(events.slice(0, 1));
    await other.running.close();
    scripted.fail(movedElsewhere);
    await untilSubscribed(scripted, 2);
    expect([scripted.subscribed, reported, running.position()]).toEqual([[0n, 1n], ['refused'], 1n]);
    await scripted.deliver(events.slice(1), {}, 1);
    expect(running.position()).toBe(3n);
    await running.close();
    await running.ended;
  });

  it('ends when another process has moved a checkpoint and the stored views are of another log', async () => {
    const scripted = scriptedLog(events);
    const { running, reported } = await open(scripted.log);
    const to = { logId: 'another', position: 1n };
    await store.write({
      documents: [],
      checkpoints: [{ name: checkpointName(viewsTogether, 0), from: undefined, to }],
    });
    scripted.fail(movedElsewhere);
    await expect(running.ended).rejects.toMatchObject({
      code: 'checkpoint-moved',
      message: 'another process has moved the checkpoint, and the views are of another log',
    });
    expect(reported).toEqual(['refused']);
    await running.close();
  });

  it('prepares views again that were deleted while it ran, and reports it if they had events', async () => {
    let prepared = 0;
    const counted: ReadStore = {
      ...store,
      prepare: (collections) => {
        prepared += collections.length;
        return store.prepare(collections);
      },
    };
    const scripted = scriptedLog(events);
    const { running, reported } = await open(scripted.log, { readStore: counted });
    expect(prepared).toBe(2);
    scripted.fail(movedElsewhere);
    await untilSubscribed(scripted, 2);
    expect([reported, prepared]).toEqual([['refused'], 4]);
    await scripted.deliver(events, {}, 1);
    scripted.fail(movedElsewhere, 1);
    await untilSubscribed(scripted, 3);
    expect([reported, prepared]).toEqual([['refused', 'refused'], 4]);
    await store.clear();
    scripted.fail(movedElsewhere, 2);
    await untilSubscribed(scripted, 4);
    expect([reported.slice(2), prepared]).toEqual([['refused', 'the views were deleted'], 6]);
    expect(scripted.subscribed).toEqual([0n, 0n, 3n, 0n]);
    await running.close();
  });

  it('opens again once the store is available, after a moved checkpoint', async () => {
    let failures = 0;
    const flaky: ReadStore = {
      ...store,
      parked: () => {
        failures -= 1;
        return failures >= 0 ? Promise.reject(new StoreUnavailable('away')) : store.parked();
      },
    };
    const times: number[] = [];
    const scripted = scriptedLog(events);
    const { running } = await open(scripted.log, {
      readStore: flaky,
      onUnavailable: (_, time) => Promise.resolve(void times.push(time)),
    });
    failures = 2;
    scripted.fail(movedElsewhere);
    await untilSubscribed(scripted, 2);
    expect(times).toEqual([1, 2]);
    await running.close();
    await running.ended;
  });

  it('goes on after a failed retry of a parked stream', async () => {
    const bad = recorded([{ stream: 's', type: 'FromTheFuture' }, { stream: 't' }]);
    const scripted = scriptedLog(bad);
    let isAway = true;
    const readStream: EventLog['readStream'] = (...given) => {
      if (isAway) throw new StoreUnavailable('no log');
      return scripted.log.readStream(...given);
    };
    const { running } = await open({ ...scripted.log, readStream });
    await scripted.deliver(bad.slice(0, 1));
    expect(running.parked()).toHaveLength(1);
    const s = streamName('tally', ['s']);
    await expect(running.retryParked(s)).rejects.toThrow('no log');
    await scripted.deliver(bad.slice(1));
    expect(running.position()).toBe(2n);
    isAway = false;
    await running.retryParked(s);
    expect(running.parked()).toHaveLength(1);
    await running.close();
  });

  it('needs none of its optional callbacks', async () => {
    await storeCheckpoints(viewsTogether, 5n);
    const runWithoutCallbacks = (log: EventLog) =>
      runProjections({
        ...{ log, readStore: store, codecs, payloads: noPayloads, models },
        now: () => NOW_MS,
        onProgress: () => undefined,
      });
    const scripted = scriptedLog(events);
    const running = await runWithoutCallbacks(scripted.log); // ahead of the log
    scripted.fail(movedElsewhere);
    await untilSubscribed(scripted, 2);
    await store.clear();
    scripted.fail(movedElsewhere, 1);
    await untilSubscribed(scripted, 3);
    expect(scripted.subscribed).toEqual([5n, 5n, 0n]);
    await running.close();
    await running.ended;
    await storeCheckpoints(viewsTogether, 3n);
    const other = await runWithoutCallbacks(scriptedLog(events, { logId: 'another' }).log);
    expect(other.position()).toBe(0n);
    await other.close();
  });

  it('goes on with other partitions when they are assigned', async () => {
    const scripted = scriptedLog(events);
    const { running, reported } = await open(scripted.log, { partitions: even });
    await scripted.deliver([], { position: 3n });
    await running.assign([]);
    await until(
      () => Promise.resolve(running.position()),
      (position) => position === MAX_POSITION,
    );
    expect(scripted.subscribed).toEqual([0n]);
    await store.clear(); // of which a run without partitions knows nothing
    await running.assign(PARTITIONS);
    await untilSubscribed(scripted, 2);
    expect([running.position(), scripted.subscribed, reported]).toEqual([0n, [0n, 0n], []]);
    await running.close();
    await running.ended;
  });

  it.each([
    ['of a log that is not read from its own file keeps their position', false, ['the log ends at position 3'], 5n],
    ['of a log that is read from its own file starts over', true, ['the views are ahead of the log'], 0n],
  ])('with views that are ahead %s', async (_, isLocal, reason, position) => {
    await storeCheckpoints(viewsTogether, 5n);
    const scripted = scriptedLog(events, isLocal ? { isLocal: true } : {});
    const { running, reported } = await open(scripted.log);
    expect(reported).toHaveLength(1);
    expect(reported[0]).toContain(reason[0]);
    expect(running.position()).toBe(position);
    await running.close();
  });

  it('begins with views at the end of its log, and with those of another log from the beginning', async () => {
    await storeCheckpoints(viewsTogether, 3n);
    const same = await open(scriptedLog(events, { isLocal: true }).log);
    expect([same.reported, same.running.position()]).toEqual([[], 3n]);
    await same.running.close();
    const other = await open(scriptedLog(events, { logId: 'another' }).log);
    expect([other.reported, other.running.position()]).toEqual([['the views are of another log'], 0n]);
    await other.running.close();
  });
});
