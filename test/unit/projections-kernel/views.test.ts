import { beforeEach, describe, expect, it } from 'vitest';
import { checkpointName, PARTITIONS, viewPartitionOf } from '../../../projections/runtime/partitions.js';
import type { Checkpoint, ReadStore } from '../../../projections/runtime/read-store.js';
import { storedViews } from '../../../projections/runtime/stored-views.js';
import { settableViews, type Timer } from '../../../projections/runtime/views.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { streamName } from '../../../services/kernel/stream.js';
import { manualTimers } from '../../support/manual-timers.js';
import { counts, tallies } from './tallies.js';

const stream = streamName('tally', ['s']);
/** The partition of the stream. */
const own = viewPartitionOf(stream);
/** A position for each partition. */
const positions = (positionOf: (partition: number) => number): bigint[] =>
  PARTITIONS.map((partition) => BigInt(positionOf(partition)));

const timerOf =
  (timers: ReturnType<typeof manualTimers>): Timer =>
  (afterMs, run) =>
    timers.after(afterMs, run);

/** Lets everything go on that waits for no timer. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('views whose positions are set', () => {
  it('have the lowest position of their partitions, and for a stream that of its partition', () => {
    const views = settableViews(timerOf(manualTimers(0)));
    expect(views.position()).toBe(0n);
    views.setPositions(3n);
    expect([views.position(), views.position({ stream })]).toEqual([3n, 3n]);
    expect(own).toBeGreaterThan(0);
    views.setPositions(positions((partition) => 10 + partition));
    expect([views.position(), views.position({ stream })]).toEqual([10n, BigInt(10 + own)]);
  });

  it('have positions of their own while they are built', () => {
    const views = settableViews(timerOf(manualTimers(0)));
    views.setPositions(
      9n,
      new Map([
        ['counts', positions((partition) => partition)],
        ['tallies', [2n]],
      ]),
    );
    expect(views.building()).toEqual(['counts', 'tallies']);
    expect(views.position({ collection: 'counts' })).toBe(0n);
    expect(views.position({ collection: 'counts', stream })).toBe(BigInt(own));
    expect(views.position({ collection: 'tallies' })).toBe(2n);
    expect([views.position(), views.position({ stream }), views.position({ collection: 'others' })]).toEqual([
      9n,
      9n,
      9n,
    ]);
    views.setPositions(9n);
    expect([views.building(), views.position({ collection: 'counts' })]).toEqual([[], 9n]);
  });

  it('are waited for until they have reached a position, or a time limit has passed', async () => {
    const timers = manualTimers(0);
    const views = settableViews(timerOf(timers));
    views.setPositions(4n);
    expect(await views.reached(4n, 100)).toBe(true);
    expect(timers.armed()).toBe(0);
    const answers: string[] = [];
    const waitFor = (name: string, position: bigint): void =>
      void views.reached(position, 100).then((hasReached) => answers.push(`${name} ${hasReached}`));
    waitFor('five', 5n);
    waitFor('seven', 7n);
    views.setPositions(6n);
    await settled();
    expect([answers, timers.armed()]).toEqual([['five true'], 1]);
    timers.advance(99);
    await settled();
    expect(answers).toHaveLength(1);
    timers.advance(1);
    await settled();
    expect([answers, timers.armed()]).toEqual([['five true', 'seven false'], 0]);
    views.setPositions(7n);
    await settled();
    expect(answers).toHaveLength(2);
  });

  it('are waited for by at most 1,000 reads', async () => {
    const timers = manualTimers(0);
    const views = settableViews(timerOf(timers));
    views.setPositions(1n);
    const waiting = Array.from({ length: 1_000 }, () => views.reached(2n, 100));
    expect(timers.armed()).toBe(1_000);
    expect([await views.reached(2n, 100), await views.reached(1n, 100)]).toEqual([false, true]);
    views.setPositions(2n);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    const later = views.reached(3n, 100);
    expect(timers.armed()).toBe(1);
    timers.advance(100);
    expect(await later).toBe(false);
  });
});

describe('views that other processes write', () => {
  const models = [tallies, counts];
  const bothViews = 'counts.v1 tallies.v1'; // the name of the group of both views
  let store: ReadStore;
  /** The number of times that the checkpoints of the views were read by their names, which each poll does once. */
  let polls: number;
  let isAway: boolean;
  beforeEach(() => {
    const memory = sqliteReadStore({ directory: undefined, mode: 'read-write' });
    [polls, isAway] = [0, false];
    store = {
      ...memory,
      checkpoints: (names) => {
        if (names) polls += 1;
        return isAway ? Promise.reject(new StoreUnavailable('away')) : memory.checkpoints(names);
      },
    };
  });

  /** Moves the checkpoints of a group of views, as the process that writes the views does. */
  const write = async (views: string, to: (partition: number) => number, logId = 'log'): Promise<void> => {
    const stored = await store.checkpoints();
    const move = (partition: number) => {
      const name = checkpointName(views, partition);
      const moved: Checkpoint = { logId, position: BigInt(to(partition)) };
      return { name, from: stored.get(name), to: moved };
    };
    await store.write({ documents: [], checkpoints: PARTITIONS.map(move) });
  };

  /** Opens the views of a process that does not write them. */
  const open = async () => {
    const timers = manualTimers(0);
    const views = storedViews({ readStore: store, models, logId: 'log', timer: timerOf(timers) });
    await settled();
    return { timers, views };
  };

  it('are at the positions of their checkpoints of this log', async () => {
    await write(bothViews, (partition) => 5 + partition);
    const { views } = await open();
    expect([views.position(), views.position({ stream }), views.building()]).toEqual([5n, BigInt(5 + own), []]);
    await write(bothViews, () => 9, 'another');
    const other = await open();
    expect([other.views.position(), other.views.building()]).toEqual([0n, []]);
    for (const each of [views, other.views]) await each.close();
  });

  it('are being built where they are behind others in a partition', async () => {
    await write('tallies.v1', () => 8);
    await write('counts.v1', (partition) => (partition === own ? 6 : 8));
    const { views } = await open();
    expect(views.building()).toEqual(['counts']);
    expect([views.position(), views.position({ stream })]).toEqual([8n, 8n]);
    expect([views.position({ collection: 'counts' }), views.position({ collection: 'counts', stream })]).toEqual([
      6n,
      6n,
    ]);
    await views.close();
  });

  it('are being built from the beginning where they have no checkpoint', async () => {
    await write('tallies.v1', () => 8);
    const { views } = await open();
    expect([views.building(), views.position(), views.position({ collection: 'counts' })]).toEqual([
      ['counts'],
      8n,
      0n,
    ]);
    await views.close();
  });

  it('are polled every 250 ms, and every 10 ms while a read waits', async () => {
    await write(bothViews, () => 1);
    const { views, timers } = await open();
    expect([polls, timers.armed()]).toEqual([1, 1]);
    timers.advance(249);
    await settled();
    expect(polls).toBe(1);
    timers.advance(1);
    await settled();
    expect(polls).toBe(2);

    expect(await views.reached(1n, 1_000)).toBe(true);
    expect(polls).toBe(2);
    const waiting = [views.reached(3n, 1_000), views.reached(2n, 1_000)];
    await settled();
    expect(polls).toBe(3); // at once, and one poll for both reads
    await write(bothViews, () => 2);
    timers.advance(9);
    await settled();
    expect(polls).toBe(3);
    timers.advance(1);
    await settled();
    expect([polls, await waiting[1], views.position()]).toEqual([4, true, 2n]);
    timers.advance(10);
    await settled();
    expect(polls).toBe(5);
    timers.advance(1_000);
    expect(await waiting[0]).toBe(false);
    await settled();
    const before = polls;
    timers.advance(10); // the poll that was planned while a read waited
    await settled();
    timers.advance(249);
    await settled();
    expect(polls - before).toBeLessThanOrEqual(1);
    await views.close();
  });

  it('keep their positions while the store is unavailable, and are polled again', async () => {
    await write(bothViews, () => 4);
    const { views, timers } = await open();
    isAway = true;
    timers.advance(250);
    await settled();
    expect([polls, views.position(), timers.armed()]).toEqual([2, 4n, 1]);
    isAway = false;
    await write(bothViews, () => 5);
    timers.advance(250);
    await settled();
    expect(views.position()).toBe(5n);
    await views.close();
  });

  it('are not polled any more once they are closed', async () => {
    const { views, timers } = await open();
    timers.advance(250); // a poll is under way
    await views.close();
    await settled();
    expect([polls, timers.armed()]).toEqual([2, 0]);
    const other = await open();
    await other.views.close();
    expect(other.timers.armed()).toBe(0);
  });
});
