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
const even = PARTITIONS.filter((partition) => partition % 2 === 0);
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

type Fed = {
  readonly log: EventLog;
  /** Gives the next page to a subscription, the first by default, and resolves when it is processed. */
  readonly give: (events: readonly RecordedEvent[], more?: Partial<LogPage>, subscription?: number) => Promise<void>;
  /** Fails a subscription, the first by default. */
  readonly fail: (error: Error, subscription?: number) => void;
  /** The positions after which it was subscribed. */
  readonly subscribed: bigint[];
  /** The number of times that the head was asked for. */
  heads: number;
};

/** A log whose pages the test gives. */
const fed = (all: readonly RecordedEvent[] = [], more: Partial<EventLog> = {}): Fed => {
  const handlers: ((page: LogPage) => Promise<void> | void)[] = [];
  const failures: ((error: Error) => void)[] = [];
  const made: Fed = {
    subscribed: [],
    heads: 0,
    fail: (error, subscription = 0) => failures[subscription]!(error),
    give: async (events, page = {}, subscription = 0) => {
      const position = events.at(-1)?.position ?? 0n;
      await handlers[subscription]!({ events, position, hasNext: false, ...page });
    },
    log: {
      logId: 'log',
      head: () => {
        made.heads += 1;
        return Promise.resolve(BigInt(all.length));
      },
      subscribe: ({ after }, onPage) => {
        made.subscribed.push(after);
        handlers.push((page) => onPage(page, true));
        let end = (): void => undefined;
        const ended = new Promise<void>((resolve, reject) => {
          end = resolve;
          failures.push(reject);
        });
        return { ended, close: () => (end(), ended.catch(() => undefined)) };
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
  return made;
};

const start = async (log: EventLog, more: Partial<PartitionRunOptions> = {}, partitions = PARTITIONS) => {
  const progress: RunProgress[] = [];
  const options: PartitionRunOptions = {
    ...{ log, readStore: store, codecs, payloads: noPayloads, models },
    now: () => 5_000,
    onProgress: (each) => progress.push(each),
    serially: (work) => work(),
    isClosed: () => false,
    ...more,
  };
  return { run: await runPartitions(options, partitions), progress };
};

/** Stores the positions of views before the run. */
const stored = (name: string, position: bigint, partitions = PARTITIONS): Promise<void> =>
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
    const { log, give } = fed();
    const { run, progress } = await start(log);
    await give([one!, foreign(2n)]);
    await give([{ ...two!, position: 3n }], { hasNext: true });
    await give([foreign(4n)]);
    await give([{ ...three!, position: 5n, metadata: metadata(9_000) }]);
    await give([foreign(6n)]);
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

  it.each([
    ['is large and at the head', 32, 1, { hasNext: false }],
    ['is small and at the head', 31, 0, { hasNext: false }],
    ['is large and reaches the head that the log gives', 40, 1, {}],
  ])('after a batch that %s, of %d events, makes %d pauses', async (_, count, pauses, page) => {
    const events = recorded(Array.from({ length: count }, () => ({ stream: 's' })));
    const { log, give } = fed(events);
    let paused = 0;
    const { run } = await start(log, { pauseAfterLarge: () => Promise.resolve(void (paused += 1)) });
    await give(events, { hasNext: undefined as never, ...page });
    expect(paused).toBe(pauses);
    await run.close();
  });

  it('does not pause behind the head, and counts the events of all pages of a batch', async () => {
    const events = recorded(Array.from({ length: 80 }, () => ({ stream: 's' })));
    const { log, give } = fed(recorded(Array.from({ length: 81 }, () => ({ stream: 's' }))));
    let paused = 0;
    const pauseAfterLarge = (): Promise<void> => Promise.resolve(void (paused += 1));
    const { run, progress } = await start(log, { pauseAfterLarge });
    await give(events.slice(0, 40), { hasNext: undefined as never });
    expect([paused, progress.length]).toEqual([0, 1]);
    await give(events.slice(40, 45));
    expect([paused, progress.length]).toEqual([1, 2]);
    await give(events.slice(45, 50));
    expect(paused).toBe(1);
    await give(events.slice(50, 80).concat(recorded([{ stream: 's' }, { stream: 's' }])), { position: 82n });
    expect(paused).toBe(2);
    await run.close();
  });

  it('goes on when no function for pauses is given', async () => {
    const events = recorded(Array.from({ length: 32 }, () => ({ stream: 's' })));
    const { log, give } = fed();
    const { run } = await start(log);
    await give(events);
    expect(run.position()).toBe(32n);
    await run.close();
  });

  it('does not read the head when the page says whether more events follow', async () => {
    const made = fed();
    const { run } = await start(made.log);
    await made.give(recorded([{ stream: 's' }]));
    expect(made.heads).toBe(0);
    await run.close();
  });

  it('moves its checkpoints after 20,000 events of the log though none of them is its own', async () => {
    const others = recorded(Array.from({ length: 40 }, (_, at) => ({ stream: `s${at}` }))).filter(
      (each) => !ofEven(each),
    );
    const page = Array.from({ length: 5_000 }, () => others[0]!);
    const { log, give } = fed();
    const { run, progress } = await start(log, {}, even);
    for (let at = 1; at <= 5; at += 1) await give(page, { position: BigInt(at * 5_000), hasNext: true });
    expect(progress.map(({ position }) => position)).toEqual([0n, 20_000n]);
    for (let at = 6; at <= 8; at += 1) await give(page, { position: BigInt(at * 5_000), hasNext: true });
    expect(progress.map(({ position }) => position)).toEqual([0n, 20_000n, 40_000n]);
    await run.close();
  });

  it('projects only the events of its own partitions', async () => {
    const events = recorded(Array.from({ length: 20 }, (_, at) => ({ stream: `s${at}` })));
    const { log, give } = fed();
    const { run } = await start(log, {}, even);
    await give(events);
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
    const made = fed();
    const { run, progress } = await start(made.log, {}, []);
    expect([run.position(), progress, made.subscribed]).toEqual([
      MAX_POSITION,
      [{ position: MAX_POSITION, lagMs: 0, parked: 0 }],
      [],
    ]);
    await run.close();
    expect(await run.ended).toBe(false);
  });

  it('writes again what the store refused, until it is closed', async () => {
    const [event] = recorded([{ stream: 's' }]);
    let left = 2;
    const refusing: ReadStore = {
      ...store,
      write: (batch) => {
        left -= 1;
        return left >= 0 ? Promise.reject(new StoreUnavailable('full')) : store.write(batch);
      },
    };
    const times: number[] = [];
    let isClosed = false;
    const { log, give } = fed();
    const { run, progress } = await start(log, {
      readStore: refusing,
      isClosed: () => isClosed,
      onUnavailable: (_, time) => {
        times.push(time);
        return Promise.resolve();
      },
    });
    await give([event!]);
    expect([times, run.position(), progress.length]).toEqual([[1, 2], 1n, 2]);
    isClosed = true;
    await give([{ ...event!, position: 2n }]);
    expect([run.position(), progress.length]).toEqual([1n, 2]);
    await run.close();
  });

  it('ends with the error of its subscription, or when another process has moved a checkpoint', async () => {
    const one = fed();
    const { run } = await start(one.log);
    one.fail(new StoreUnavailable('no log'));
    await expect(run.ended).rejects.toThrow('no log');
    await run.close();
    const two = fed();
    const moved = await start(two.log);
    two.fail(new CheckpointMoved('moved'));
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
    const { run, progress } = await start(fed(events).log, more);
    expect([progress.at(-1)?.parked, run.parked().map(({ stream }) => stream)]).toEqual([2, ['tally-s', 'tally-t']]);
    isKnown = true;
    await run.retryParked(streamName('tally', ['u']));
    expect(progress.at(-1)?.parked).toBe(2);
    await run.retryParked(streamName('tally', ['s']));
    expect([progress.at(-1)?.parked, run.parked().map(({ stream }) => stream)]).toEqual([1, ['tally-t']]);
    expect((await store.get(counts.collection, 'tally-s'))?.position).toBe(3n);
    await run.close();
    const next = await start(fed(events).log, more);
    expect([next.progress[0]?.parked, next.run.parked()]).toEqual([0, []]);
    await next.run.close();
  });

  it('keeps the lag when a parked stream is retried', async () => {
    const events = recorded([{ stream: 's', type: 'FromTheFuture' }, { stream: 't' }]);
    const { log, give } = fed(events);
    const { run, progress } = await start(log);
    await give(events);
    await run.retryParked(streamName('tally', ['s']));
    expect(progress.map(({ lagMs, parked }) => [lagMs, parked])).toEqual([
      [0, 0],
      [4_000, 1],
      [4_000, 1],
    ]);
    await run.close();
  });

  it('opens again when another process moves a checkpoint as it opens, and fails with any other error', async () => {
    await stored('tallies.v1', 4n);
    await stored('counts.v1', 4n);
    let refusals = 2;
    const refusing = (error: Error): ReadStore => ({
      ...store,
      write: (batch) => {
        refusals -= 1;
        return refusals >= 0 ? Promise.reject(error) : store.write(batch);
      },
    });
    const { run } = await start(fed().log, { readStore: refusing(new CheckpointMoved('moved')) });
    expect([run.position(), refusals]).toEqual([4n, -1]);
    await run.close();
    await store.clear();
    await stored('tallies.v1', 4n);
    refusals = 1;
    await expect(start(fed().log, { readStore: refusing(new TypeError('broken')) })).rejects.toThrow('broken');
  });
});

describe('views that are built beside others', () => {
  const events = recorded(Array.from({ length: 600 }, (_, at) => ({ stream: `s${at % 20}` })));

  it('are projected in small batches with pauses, reported apart, and join the views in service at the position of those', async () => {
    await stored('tallies.v1', 600n);
    const { log, give, subscribed } = fed(events);
    let pauses = 0;
    const { run, progress } = await start(log, {
      pauseAfterBuilding: () => Promise.resolve(void (pauses += 1)),
      pauseAfterLarge: () => Promise.reject(new Error('not of views that are built')),
    });
    expect(subscribed).toEqual([600n, 0n]);
    expect(progress).toEqual([{ position: 600n, lagMs: 0, parked: 0, building: new Map([['counts', 0n]]) }]);
    const page = (from: number, to: number) => give(events.slice(from, to), { hasNext: true }, 1);
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
    const joined = await start(fed(events).log);
    expect(joined.progress).toEqual([{ position: 600n, lagMs: 0, parked: 0 }]);
    const { response } = (await store.get(counts.collection, 'tally-s0'))!;
    expect(Buffer.from(response).toString()).toBe('30');
    await joined.run.close();
  });

  it('may have batches of another size', async () => {
    await stored('tallies.v1', 600n);
    const { log, give } = fed(events);
    const { run, progress } = await start(log, { buildingEvents: 10 });
    await give(events.slice(0, 9), { hasNext: true }, 1);
    expect(progress).toHaveLength(1);
    await give(events.slice(9, 10), { hasNext: true }, 1);
    expect(progress).toHaveLength(2);
    await run.close();
    expect(await run.ended).toBe(false);
  });

  it('do not change the lag of the views in service', async () => {
    await stored('tallies.v1', 300n);
    const { log, give } = fed(events);
    const { run, progress } = await start(log);
    await give(events.slice(300, 301));
    expect(progress.at(-1)?.lagMs).toBe(4_000);
    await give(
      events.slice(0, 10).map((event) => ({ ...event, metadata: metadata(1) })),
      {},
      1,
    );
    expect(progress.at(-1)).toMatchObject({ position: 301n, lagMs: 4_000, building: new Map([['counts', 10n]]) });
    await run.close();
  });

  it('have the lowest position of their partitions', async () => {
    await stored('tallies.v1', 600n);
    await stored('counts.v1', 20n, even);
    const { progress, run } = await start(fed(events).log);
    expect(progress[0]?.building).toEqual(new Map([['counts', 0n]]));
    await run.close();
  });

  it('are reported each at its own position', async () => {
    await stored('tallies.v1', 600n);
    await stored('counts.v1', 20n);
    const { progress, run } = await start(fed(events).log, { models: [...models, totals] });
    expect(progress.map(({ building }) => building)).toEqual([
      new Map([
        ['counts', 20n],
        ['totals', 0n],
      ]),
    ]);
    await run.close();
  });

  it('are reported by name where several are built together', async () => {
    await stored('tallies.v1', 600n);
    const { progress, run } = await start(fed(events).log, { models: [...models, totals] });
    expect(progress[0]?.building).toEqual(
      new Map([
        ['counts', 0n],
        ['totals', 0n],
      ]),
    );
    await run.close();
  });

  it('are reported once at the start, also where they are in service in some partitions', async () => {
    await stored('tallies.v1', 600n);
    await stored('counts.v1', 600n, even);
    const { progress, run } = await start(fed(events).log);
    expect(progress.map(({ position, building }) => [position, building?.get('counts')])).toEqual([[600n, 0n]]);
    await run.close();
  });

  it('count a stream once that the views in service have parked too, at the position where those have parked it', async () => {
    await stored('tallies.v1', 5n);
    const parked = (views: string, position: bigint) => ({
      ...{ views, stream: 'tally-s', from: undefined },
      to: { position, reason: views },
    });
    const all = 'counts.v1 tallies.v1';
    const bad = recorded([
      { stream: 's', type: 'FromTheFuture' },
      { stream: 's', type: 'FromTheFuture' },
    ]);
    const first = await start(fed(bad).log);
    await first.run.close();
    const groups = [...(await store.checkpoints()).keys()].map((name) => name.replace(/ \d\/8$/u, ''));
    const own = groups.find((name) => name.startsWith('tallies.v1 @'))!;
    const checkpoints = [{ name: checkpointName('other', 0), from: undefined, to: { logId: 'log', position: 1n } }];
    await store.write({ documents: [], checkpoints, parked: [parked(own, 2n), parked(all, 1n)] });
    const made = fed(bad);
    const { run, progress } = await start(made.log);
    await made.give(bad, {}, 1);
    expect(progress.at(-1)?.parked).toBe(1);
    expect(run.parked()).toMatchObject([{ views: own, position: 2n }]);
    await run.close();
  });

  it('are brought to the position of the views in service as far as the log goes, with a pause where it ends before that', async () => {
    await stored('tallies.v1', 300n);
    let pauses = 0;
    const lagging = fed(events.slice(0, 200));
    const { run } = await start(lagging.log, { pauseAfterBuilding: () => Promise.resolve(void (pauses += 1)) });
    await lagging.give([], { position: 300n }, 1);
    await run.ended;
    expect(pauses).toBe(1);
    const reads: bigint[] = [];
    let pages = 0;
    // No page of the log ends where the views in service are.
    async function* readLog({ after }: { readonly after: bigint }): AsyncGenerator<LogPage> {
      reads.push(after);
      for (let at = Number(after); at < events.length; at += 7) {
        const page = events.slice(at, at + 7);
        pages += 1;
        yield await Promise.resolve({ events: page, position: page.at(-1)!.position });
      }
    }
    const whole = fed(events, { readLog });
    const next = await start(whole.log, { pauseAfterBuilding: () => Promise.resolve(void (pauses += 1)) });
    await whole.give([], { position: 300n }, 1);
    await next.run.ended;
    expect(pauses).toBe(1);
    expect([reads, pages]).toEqual([[200n], 15]); // the views in service read nothing, and no group reads on after 300
    const joined = await start(fed(events).log);
    expect(joined.progress[0]).toEqual({ position: 300n, lagMs: 0, parked: 0 });
    const { response } = (await store.get(counts.collection, 'tally-s0'))!;
    expect(Buffer.from(response).toString()).toBe('15');
    expect((await store.get(counts.collection, 'tally-s19'))?.position).toBe(300n);
    await joined.run.close();
  });

  it('are written before they are brought to the position of the views in service, when events were gathered', async () => {
    await stored('tallies.v1', 300n);
    const reads: bigint[] = [];
    const made = fed(events);
    const readLog: EventLog['readLog'] = (from) => {
      reads.push(from.after);
      return made.log.readLog(from);
    };
    const { run } = await start({ ...made.log, readLog });
    await made.give(events.slice(0, 100), { hasNext: true }, 1);
    await made.give([], { position: 300n }, 1);
    expect(await run.ended).toBe(false);
    expect(reads).toEqual([100n]);
    const { position, response } = (await store.get(counts.collection, 'tally-s19'))!;
    expect([position, Buffer.from(response).toString()]).toEqual([300n, '15']);
  });

  it('are brought to the position of the views in service without pauses too, and no further once the run is closed', async () => {
    await stored('tallies.v1', 300n);
    let isClosed = false;
    let pages = 0;
    async function* readLog(): AsyncGenerator<LogPage> {
      for (const event of events) {
        pages += 1;
        isClosed = pages === 3;
        yield await Promise.resolve({ events: [event], position: event.position });
      }
    }
    const made = fed(events, { readLog });
    const { run } = await start(made.log, { isClosed: () => isClosed });
    await made.give([], { position: 300n }, 1);
    expect([await run.ended, pages]).toEqual([false, 3]);
    expect((await store.get(counts.collection, 'tally-s1'))?.position).toBe(2n);
    expect(await store.get(counts.collection, 'tally-s2')).toBeUndefined();
  });

  it('are not brought to the position of the views in service when the run is closed', async () => {
    await stored('tallies.v1', 300n);
    const made = fed(events, {
      readLog: () => {
        throw new Error('the log is not read');
      },
    });
    const { run } = await start(made.log);
    await Promise.all([made.give([], { position: 300n }, 1), run.close()]);
    expect(await run.ended).toBe(false);
  });
});

describe('work that is retried', () => {
  const failing = (times: number, error: Error = new StoreUnavailable('full')) => {
    let left = times;
    return () => {
      left -= 1;
      return left >= 0 ? Promise.reject(error) : Promise.resolve('done');
    };
  };
  const never = (): boolean => false;

  it('is done again while the store is unavailable, and says how often it failed', async () => {
    const told: (readonly [string, number])[] = [];
    const onUnavailable = (why: StoreUnavailable, times: number) =>
      Promise.resolve(void told.push([why.message, times]));
    expect(await retryWhileUnavailable(failing(2), onUnavailable, never)).toBe('done');
    expect(told).toEqual([
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
  const all = 'counts.v1 tallies.v1';
  const events = recorded([{ stream: 's' }, { stream: 's' }, { stream: 's' }]);
  const movedElsewhere = new CheckpointMoved('moved');

  const open = async (log: EventLog, more: Partial<RunnerOptions> = {}) => {
    const said: string[] = [];
    const running = await runProjections({
      ...{ log, readStore: store, codecs, payloads: noPayloads, models },
      now: () => 5_000,
      onProgress: () => undefined,
      onStartOver: (why) => said.push(why),
      onWait: (why) => said.push(why),
      onRefused: () => said.push('refused'),
      ...more,
    });
    return { running, said };
  };
  const subscribedTimes = (made: Fed, times: number) =>
    until(
      () => Promise.resolve(made.subscribed.length),
      (count) => count >= times,
    );

  it('goes on from the stored checkpoints when another process has moved them, and says so', async () => {
    const made = fed(events);
    const { running, said } = await open(made.log);
    const other = await open(fed(events).log);
    await made.give(events.slice(0, 1));
    await other.running.close();
    made.fail(movedElsewhere);
    await subscribedTimes(made, 2);
    expect([made.subscribed, said, running.position()]).toEqual([[0n, 1n], ['refused'], 1n]);
    await made.give(events.slice(1), {}, 1);
    expect(running.position()).toBe(3n);
    await running.close();
    await running.ended;
  });

  it('ends when another process has moved a checkpoint and the stored views are of another log', async () => {
    const made = fed(events);
    const { running, said } = await open(made.log);
    const to = { logId: 'another', position: 1n };
    await store.write({ documents: [], checkpoints: [{ name: checkpointName(all, 0), from: undefined, to }] });
    made.fail(movedElsewhere);
    await expect(running.ended).rejects.toMatchObject({
      code: 'checkpoint-moved',
      message: 'another process has moved the checkpoint, and the views are of another log',
    });
    expect(said).toEqual(['refused']);
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
    const made = fed(events);
    const { running, said } = await open(made.log, { readStore: counted });
    expect(prepared).toBe(2);
    made.fail(movedElsewhere);
    await subscribedTimes(made, 2);
    expect([said, prepared]).toEqual([['refused'], 4]);
    await made.give(events, {}, 1);
    made.fail(movedElsewhere, 1);
    await subscribedTimes(made, 3);
    expect([said, prepared]).toEqual([['refused', 'refused'], 4]);
    await store.clear();
    made.fail(movedElsewhere, 2);
    await subscribedTimes(made, 4);
    expect([said.slice(2), prepared]).toEqual([['refused', 'the views were deleted'], 6]);
    expect(made.subscribed).toEqual([0n, 0n, 3n, 0n]);
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
    const made = fed(events);
    const { running } = await open(made.log, {
      readStore: flaky,
      onUnavailable: (_, time) => Promise.resolve(void times.push(time)),
    });
    failures = 2;
    made.fail(movedElsewhere);
    await subscribedTimes(made, 2);
    expect(times).toEqual([1, 2]);
    await running.close();
    await running.ended;
  });

  it('goes on after a failed retry of a parked stream', async () => {
    const bad = recorded([{ stream: 's', type: 'FromTheFuture' }, { stream: 't' }]);
    const made = fed(bad);
    let isAway = true;
    const readStream: EventLog['readStream'] = (...given) => {
      if (isAway) throw new StoreUnavailable('no log');
      return made.log.readStream(...given);
    };
    const { running } = await open({ ...made.log, readStream });
    await made.give(bad.slice(0, 1));
    expect(running.parked()).toHaveLength(1);
    const s = streamName('tally', ['s']);
    await expect(running.retryParked(s)).rejects.toThrow('no log');
    await made.give(bad.slice(1));
    expect(running.position()).toBe(2n);
    isAway = false;
    await running.retryParked(s);
    expect(running.parked()).toHaveLength(1);
    await running.close();
  });

  it('needs none of its optional callbacks', async () => {
    await stored(all, 5n);
    const quiet = (log: EventLog) =>
      runProjections({
        ...{ log, readStore: store, codecs, payloads: noPayloads, models },
        now: () => 5_000,
        onProgress: () => undefined,
      });
    const made = fed(events);
    const running = await quiet(made.log); // ahead of the log
    made.fail(movedElsewhere);
    await subscribedTimes(made, 2);
    await store.clear();
    made.fail(movedElsewhere, 1);
    await subscribedTimes(made, 3);
    expect(made.subscribed).toEqual([5n, 5n, 0n]);
    await running.close();
    await running.ended;
    await stored(all, 3n);
    const other = await quiet(fed(events, { logId: 'another' }).log);
    expect(other.position()).toBe(0n);
    await other.close();
  });

  it('goes on with other partitions when they are assigned', async () => {
    const made = fed(events);
    const { running, said } = await open(made.log, { partitions: even });
    await made.give([], { position: 3n });
    await running.assign([]);
    await until(
      () => Promise.resolve(running.position()),
      (position) => position === MAX_POSITION,
    );
    expect(made.subscribed).toEqual([0n]);
    await store.clear(); // of which a run without partitions knows nothing
    await running.assign(PARTITIONS);
    await subscribedTimes(made, 2);
    expect([running.position(), made.subscribed, said]).toEqual([0n, [0n, 0n], []]);
    await running.close();
    await running.ended;
  });

  it.each([
    ['of a log that is not read from its own file keeps their position', false, ['the log ends at position 3'], 5n],
    ['of a log that is read from its own file starts over', true, ['the views are ahead of the log'], 0n],
  ])('with views that are ahead %s', async (_, isLocal, why, position) => {
    await stored(all, 5n);
    const made = fed(events, isLocal ? { isLocal: true } : {});
    const { running, said } = await open(made.log);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain(why[0]);
    expect(running.position()).toBe(position);
    await running.close();
  });

  it('begins with views at the end of its log, and with those of another log from the beginning', async () => {
    await stored(all, 3n);
    const same = await open(fed(events, { isLocal: true }).log);
    expect([same.said, same.running.position()]).toEqual([[], 3n]);
    await same.running.close();
    const other = await open(fed(events, { logId: 'another' }).log);
    expect([other.said, other.running.position()]).toEqual([['the views are of another log'], 0n]);
    await other.running.close();
  });
});
