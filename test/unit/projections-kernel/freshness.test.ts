import { describe, expect, it } from 'vitest';
import { freshness, latestDocument, searchingBuiltViews } from '../../../projections/query/freshness.js';
import type { UnprojectedEvents, WantedDocuments } from '../../../projections/runtime/unprojected-events.js';
import { settableViews } from '../../../projections/runtime/views.js';
import type { Call } from '../../../services/kernel/rpc.js';
import { streamName } from '../../../services/kernel/stream.js';

const stream = streamName('execution', ['p', 'd', 'n']);
const collection = { name: 'executions', version: 1, fields: {}, indexes: [] };

/**
 * Freshness over views whose clock the test advances with `pass`.
 *
 * @param acknowledged the position of the last event that this process has acknowledged, in any stream; `undefined`: it
 * has acknowledged none.
 * @param minPosition the position that the call asks for.
 * @param recorded the position of the last event of the stream that any process has recorded.
 */
const fixture = (acknowledged: bigint | undefined, minPosition?: bigint, recorded = acknowledged) => {
  const timers = new Set<{ atMs: number; run: () => void }>();
  let nowMs = 0;
  const views = settableViews((afterMs, run) => {
    const timer = { atMs: nowMs + afterMs, run };
    timers.add(timer);
    return () => timers.delete(timer);
  });
  const answered: bigint[] = [];
  const call: Call = {
    principal: '',
    requestId: 'r',
    ...(minPosition !== undefined && { minPosition }),
    isCancelled: () => false,
    answeredAt: (position) => answered.push(position),
  };
  const folded: WantedDocuments[] = [];
  const unprojected: UnprojectedEvents = {
    fold: (wanted) => {
      folded.push(wanted);
      return Promise.resolve([]);
    },
  };
  const fresh = freshness(
    { ofStream: () => acknowledged, ofPrefix: () => acknowledged, streamUnder: () => stream },
    views,
    unprojected,
    () => Promise.resolve(recorded),
  );
  /** Lets promises that are already resolved call what waits for them. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  /** Advances the clock, and runs the timers that are due. */
  const pass = async (ms: number) => {
    await settle();
    nowMs += ms;
    for (const timer of timers) if (timer.atMs <= nowMs && timers.delete(timer)) timer.run();
    await settle();
  };
  return { views, call, fresh, answered, pass, timers, folded };
};

describe('a read', () => {
  it('goes on at once when nothing was acknowledged, with the position of the views', async () => {
    const { views, call, fresh, answered } = fixture(undefined);
    views.setPositions(3n);
    await fresh.awaitAcknowledged(call, stream, collection);
    await fresh.waitForPrefix(call, 'execution-p:d:', collection);
    expect(answered).toEqual([3n, 3n]);
  });

  it('waits until the views have what was acknowledged', async () => {
    const { views, call, fresh, answered, pass, timers } = fixture(5n);
    const [get, list] = [
      fresh.awaitAcknowledged(call, stream, collection),
      fresh.waitForPrefix(call, 'execution-p:d:', collection),
    ];
    await Promise.resolve();
    views.setPositions(4n);
    await pass(0);
    expect(answered).toEqual([]);
    views.setPositions(6n);
    await Promise.all([get, list]);
    expect(answered).toEqual([6n, 6n]);
    expect(timers.size).toBe(0);
  });

  it('of a document has the unprojected events of its stream folded when the view is late', async () => {
    const { views, call, fresh, answered, pass, folded } = fixture(5n);
    const reading = fresh.awaitAcknowledged(call, stream, collection);
    views.setPositions(4n);
    await pass(500);
    const unprojected = await reading;
    expect(answered).toEqual([4n]);
    await unprojected(collection, { key: 'k' });
    expect(folded).toEqual([{ stream, collection: 'executions', key: 'k' }]);
    views.setPositions(5n);
    expect(await (await fresh.awaitAcknowledged(call, stream, collection))(collection, { key: 'k' })).toEqual([]);
    expect(folded).toHaveLength(1);
  });

  it('of a list goes on after 500 ms with the views as they are', async () => {
    const { views, call, fresh, answered, pass } = fixture(5n);
    views.setPositions(2n);
    const list = fresh.waitForPrefix(call, 'execution-p:d:', collection);
    await pass(499);
    expect(answered).toEqual([]);
    await pass(1);
    await list;
    expect(answered).toEqual([2n]);
  });

  it('of many lists of one kind for one call waits once, and another call waits again', async () => {
    const { views, call, fresh, answered, pass } = fixture(5n);
    views.setPositions(2n);
    const first = fresh.waitForPrefix(call, 'execution-p:d:', collection);
    await pass(500);
    await first;
    for (let list = 0; list < 3; list += 1) await fresh.waitForPrefix(call, 'execution-p:d:', collection);
    expect(answered).toEqual([2n, 2n, 2n, 2n]);
    const others = [
      fresh.waitForPrefix(call, 'execution-p:e:', collection),
      fresh.waitForPrefix(call, 'execution-p:d:', { ...collection, name: 'tasks' }),
      fresh.waitForPrefix({ ...call }, 'execution-p:d:', collection),
    ];
    await pass(499);
    expect(answered).toHaveLength(4);
    await pass(1);
    await Promise.all(others);
  });

  it('sees the position that its caller names, or is UNAVAILABLE after 2 s', async () => {
    const { views, call, fresh, pass } = fixture(undefined, 9n);
    const reads = [
      fresh.awaitAcknowledged(call, stream, collection),
      fresh.waitForPrefix(call, 'execution-p:d:', collection),
    ];
    const refused = reads.map((read) => expect(read).rejects.toMatchObject({ code: 'UNAVAILABLE' }));
    await pass(2_000);
    await Promise.all(refused);
    const later = fresh.waitForPrefix(call, 'execution-p:d:', collection);
    await pass(1_999);
    views.setPositions(9n);
    await later;
  });

  it('of a stream folds events that other processes recorded while the view lacks them, and nothing when there are none', async () => {
    const { views, fresh, folded } = fixture(undefined, undefined, 7n);
    expect(await fixture(undefined).fresh.recorded(stream, collection)).toBeUndefined();
    await (
      await fresh.recorded(stream, collection)
    )?.(collection, { key: 'k' });
    expect(folded).toEqual([{ stream, collection: 'executions', key: 'k' }]);
    views.setPositions(7n);
    expect(await (await fresh.recorded(stream, collection))?.(collection, { key: 'k' })).toEqual([]);
    expect(folded).toHaveLength(1);
  });
});

it('a Get that finds nothing is UNAVAILABLE when its stream is parked, and not when another is', async () => {
  const { views, call, fresh } = fixture(undefined, undefined, 7n);
  views.setPositions(9n);
  /** Gets a document that does not exist, while the views have parked a stream. */
  const getWhileParked = (parked: string) => {
    const store = {
      get: () => Promise.resolve(undefined),
      parked: () =>
        Promise.resolve([{ views: 'executions', stream: parked, position: 7n, reason: 'an unknown event' }]),
    };
    return latestDocument({ store: store as never, freshness: fresh }, call, collection, { stream, key: 'k' });
  };
  await expect(getWhileParked(stream)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: `the views have parked stream ${stream}: they cannot process one of its events`,
  });
  expect(await getWhileParked(`${stream}2`)).toBeUndefined();
});

it('views that start over have not reached a position that they had before', async () => {
  const { views, pass } = fixture(undefined);
  views.setPositions(5n);
  views.setPositions(0n);
  expect(views.position()).toBe(0n);
  const reached = views.reached(5n, 100);
  await pass(100);
  expect(await reached).toBe(false);
});

describe('a view that is being built', () => {
  const tasks = { ...collection, name: 'tasks' };
  const key = { key: 'k' };

  it('refuses lists, and has documents folded from their streams; other views answer as usual', async () => {
    const { views, call, fresh, answered, folded } = fixture(5n);
    views.setPositions(6n, new Map([['executions', 2n]]));
    expect([views.building(), views.position(), views.position({ collection: 'executions' })]).toEqual([
      ['executions'],
      6n,
      2n,
    ]);
    await expect(fresh.waitForPrefix(call, 'execution-p:d:', collection)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'the view executions is being built from the log; retry later',
    });
    await fresh.waitForPrefix(call, 'task-p:d:', tasks);
    await (
      await fresh.awaitAcknowledged(call, stream, tasks)
    )(tasks, key);
    expect(folded).toEqual([]);
    await (
      await fresh.awaitAcknowledged(call, stream, collection)
    )(collection, key);
    await (
      await fresh.recorded(stream, collection)
    )?.(collection, key);
    expect(folded).toHaveLength(2);
    expect(answered).toEqual([6n, 6n, 2n]);
  });

  it('has not reached the position that a caller names, which other views have', async () => {
    const { views, call, fresh, pass } = fixture(undefined, 6n);
    views.setPositions(6n, new Map([['executions', 2n]]));
    const refused = expect(fresh.awaitAcknowledged(call, stream, collection)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    await fresh.awaitAcknowledged(call, stream, tasks);
    await pass(2_000);
    await refused;
  });

  it('refuses queries of it, and queries of other views with a condition on its documents', async () => {
    const { views } = fixture(undefined);
    const found = { elements: [], values: [], hasMore: false };
    const store = {
      find: () => Promise.resolve(found),
      findDistinct: () => Promise.resolve(found),
      countBy: () => Promise.resolve(new Map()),
    } as never;
    const searched = searchingBuiltViews(store, views);
    const orderBy = { field: 'name', direction: 'ascending' } as const;
    const query = { where: [], orderBy, limit: 1 };
    const joined = { ...query, where: [{ field: 'task', is: 'key of', collection, where: [] } as const] };
    views.setPositions(6n, new Map([['executions', 2n]]));
    await searched.find(tasks, query);
    for (const refused of [
      () => searched.find(collection, query),
      () => searched.findDistinct(collection, query),
      () => searched.find(tasks, joined),
      () => searched.countBy(collection, query, 'phase'),
      () => searched.countBy(tasks, joined, 'phase'),
    ])
      await expect(refused()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    views.setPositions(6n);
    await searched.find(tasks, joined);
    expect(await searched.countBy(tasks, joined, 'phase')).toEqual(new Map());
  });
});
