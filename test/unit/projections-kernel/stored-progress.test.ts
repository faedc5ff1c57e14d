import { beforeEach, describe, expect, it } from 'vitest';
import { PARTITIONS, viewPartitionOf } from '../../../projections/runtime/partitions.js';
import type { ReadStore } from '../../../projections/runtime/read-store.js';
import { groupName, isReplacedByGroup, storedProgress } from '../../../projections/runtime/stored-progress.js';
import { viewGroups } from '../../../projections/runtime/view-groups.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import { counts, tallies, totals } from './tallies.js';

const models = [tallies, counts, totals];
/** The group of all views; its checkpoint for partition 0 of 8 has the name `counts.v1 tallies.v1 totals.v1 0/8`. */
const ALL_VIEWS = 'counts.v1 tallies.v1 totals.v1';
const checkpointAt = (position: bigint) => ({ logId: 'log', position });

let store: ReadStore;
beforeEach(() => {
  store = sqliteReadStore({ directory: undefined, mode: 'read-write' });
});

type Parked = readonly [views: string, stream: string, position: bigint];

/** Stores checkpoints by their names, and streams as parked. */
const put = (rows: Readonly<Record<string, bigint>>, parked: readonly Parked[] = []): Promise<void> =>
  store.write({
    documents: [],
    checkpoints: Object.entries(rows).map(([name, position]) => ({
      name,
      from: undefined,
      to: checkpointAt(position),
    })),
    parked: parked.map(([views, stream, position]) => ({
      ...{ views, stream, from: undefined },
      to: { position, reason: `by ${views}` },
    })),
  });

describe('the stored progress of views', () => {
  /** The group and the position from which each view starts in a partition; `undefined` where nothing is stored. */
  const startsOf = async (partition = 0) => {
    const progress = await storedProgress(store, { models });
    return models.map(({ collection: { name } }) => {
      const start = progress.startOf(name, partition);
      return start && [start.group, start.checkpoint.position];
    });
  };

  it('prefers the checkpoint of a partition to that of all, and ignores those of a division into 16', async () => {
    await put({ [`${ALL_VIEWS} 0/8`]: 5n, [ALL_VIEWS]: 9n, [`${ALL_VIEWS} 1/8`]: 8n, [`${ALL_VIEWS} 2/16`]: 20n });
    expect(await startsOf(0)).toEqual(models.map(() => [ALL_VIEWS, 5n]));
    expect(await startsOf(1)).toEqual(models.map(() => [ALL_VIEWS, 8n]));
    expect(await startsOf(2)).toEqual(models.map(() => [ALL_VIEWS, 9n]));
  });

  it('prefers a checkpoint of all views, even one of all partitions, to any of a group', async () => {
    const group = groupName(models, [tallies]);
    await put({ [ALL_VIEWS]: 3n, [`${group} 0/8`]: 9n, 'tallies.v1 0/8': 12n });
    expect(await startsOf()).toEqual(models.map(() => [ALL_VIEWS, 3n]));
  });

  it('prefers a checkpoint of a group of this release to any of another release', async () => {
    const group = groupName(models, [tallies]);
    expect(group).toMatch(/^tallies\.v1 @[\da-f]{8}$/u);
    await put({ 'tallies.v1 0/8': 9n, [`${group} 0/8`]: 4n, 'a.v1 tallies.v1 0/8': 12n });
    expect((await startsOf())[0]).toEqual([group, 4n]);
  });

  it('takes the highest checkpoint of other releases, and has none for a view that no release has stored', async () => {
    await put({ 'a.v1 tallies.v1 0/8': 7n, 'b.v1 tallies.v1 0/8': 9n, 'c.v1 tallies.v1 0/8': 8n });
    expect(await startsOf()).toEqual([['b.v1 tallies.v1', 9n], undefined, undefined]);
    expect(await startsOf(1)).toEqual([undefined, undefined, undefined]);
  });

  it('has the checkpoints by their names', async () => {
    await put({ [`${ALL_VIEWS} 0/8`]: 5n });
    const progress = await storedProgress(store, { models });
    expect([progress.checkpoint(`${ALL_VIEWS} 0/8`), progress.checkpoint(`${ALL_VIEWS} 1/8`)]).toEqual([
      checkpointAt(5n),
      undefined,
    ]);
    expect(progress.startOf('others', 0)).toBeUndefined();
  });

  it('reads no other checkpoints once all of the release are there', async () => {
    await put(Object.fromEntries(PARTITIONS.map((partition) => [`${ALL_VIEWS} ${partition}/8`, 5n])));
    let reads = 0;
    const counted = { checkpoints: (names?: readonly string[]) => ((reads += 1), store.checkpoints(names)) };
    await storedProgress(counted, { models });
    expect(reads).toBe(1);
  });

  it('of a group is replaced by that of a larger group of the same release', () => {
    const [small, large] = [groupName(models, [tallies]), groupName(models, [tallies, counts])];
    expect(groupName(models, models)).toBe(ALL_VIEWS);
    expect(isReplacedByGroup(models, small, [tallies, counts])).toBe(true);
    expect(isReplacedByGroup(models, large, models)).toBe(true);
    expect(isReplacedByGroup(models, large, [tallies, totals])).toBe(false);
    expect(isReplacedByGroup(models, small, [counts])).toBe(false);
    expect(isReplacedByGroup(models, 'tallies.v1', models)).toBe(false);
    expect(isReplacedByGroup(models, groupName([tallies, counts], [tallies]), models)).toBe(false);
  });
});

describe('the groups of views of a process', () => {
  /** A stream of the partition. */
  const inPartition = (partition: number): string =>
    Array.from({ length: 100 }, (_, number) => streamName('tally', [`n${number}`])).find(
      (stream) => viewPartitionOf(stream) === partition,
    )!;
  const groupsOf = (partitions: readonly number[]) => viewGroups(store, { models }, partitions);
  /** Of each group the names of its views, its partitions, and whether it is being built. */
  const shown = async (partitions: readonly number[]) =>
    (await groupsOf(partitions)).map(({ models: some, partitions: own, isBuilding }) => [
      some.map(({ collection }) => collection.name).join(' '),
      own,
      isBuilding,
    ]);

  it('are the views at one position, over all partitions divided alike; views behind are being built', async () => {
    await put({
      'tallies.v1 0/8': 9n,
      'counts.v1 0/8': 4n,
      'totals.v1 0/8': 9n,
      'tallies.v1 1/8': 7n,
      'counts.v1 1/8': 2n,
      'totals.v1 1/8': 7n,
      'tallies.v1 2/8': 3n,
      'counts.v1 2/8': 8n,
    });
    expect(await shown([0, 1, 2, 3])).toEqual([
      ['tallies totals', [0, 1], false],
      ['counts', [0, 1], true],
      ['counts', [2], false],
      ['tallies', [2], true],
      ['totals', [2], true],
      ['tallies counts totals', [3], false],
    ]);
  });

  it('are one group of all views when the process has no partitions', async () => {
    await put({ 'tallies.v1 0/8': 9n });
    const [group, ...others] = await groupsOf([]);
    expect(others).toEqual([]);
    expect(group).toMatchObject({ name: ALL_VIEWS, models, partitions: [], isBuilding: false, takeover: undefined });
  });

  it('take over checkpoints with the streams parked at them, and delete those of replaced groups', async () => {
    const [ahead, joined] = [groupName(models, [tallies, totals]), groupName(models, [counts])];
    const [one, two] = [inPartition(0), inPartition(1)];
    const hashed = 'tally-n~1'; // a stream without a routing key, whose partition is not 0
    await put({ [`${ahead} 0/8`]: 9n, [`${joined} 0/8`]: 9n }, [
      [ahead, one, 5n],
      [joined, one, 7n],
      [joined, two, 2n],
      [ALL_VIEWS, hashed, 4n],
      ['counts.v1', one, 1n],
    ]);
    const [group] = await groupsOf([0]);
    expect(group?.takeover?.checkpoints).toEqual([
      { name: `${ALL_VIEWS} 0/8`, from: undefined, to: checkpointAt(9n) },
      { name: `${ahead} 0/8`, from: checkpointAt(9n), to: undefined },
      { name: `${joined} 0/8`, from: checkpointAt(9n), to: undefined },
    ]);
    expect(group?.takeover?.parked).toEqual([
      { views: ALL_VIEWS, stream: one, from: undefined, to: { position: 5n, reason: `by ${ahead}` } },
      { views: ahead, stream: one, from: 5n, to: undefined },
      { views: joined, stream: one, from: 7n, to: undefined },
    ]);
  });

  it('move or delete streams that they had parked, to agree with the groups whose checkpoints they take', async () => {
    const ahead = groupName(models, [tallies, totals]);
    const joined = groupName(models, [counts]);
    const streams = Array.from({ length: 400 }, (_, each) => streamName('tally', [`n${each}`]));
    const [same, moved, gone] = streams.filter((stream) => viewPartitionOf(stream) === 0);
    await put({ [`${ahead} 0/8`]: 9n, [`${joined} 0/8`]: 9n }, [
      [ALL_VIEWS, same!, 3n],
      [joined, same!, 3n],
      [ALL_VIEWS, moved!, 6n],
      [ahead, moved!, 4n],
      [ALL_VIEWS, gone!, 2n],
    ]);
    const [group] = await groupsOf([0]);
    const own = group?.takeover?.parked?.filter(({ views }) => views === ALL_VIEWS);
    expect(own).toEqual([
      { views: ALL_VIEWS, stream: moved, from: 6n, to: { position: 4n, reason: `by ${ahead}` } },
      { views: ALL_VIEWS, stream: gone, from: 2n, to: undefined },
    ]);
    await store.write(group!.takeover!);
    expect((await store.parked()).map(({ views, stream, position }) => [views, stream, position])).toEqual([
      [ALL_VIEWS, same, 3n],
      [ALL_VIEWS, moved, 4n],
    ]);
    expect(await groupsOf([0])).toMatchObject([{ name: ALL_VIEWS, takeover: undefined }]);
  });

  it('take over the checkpoint of all partitions', async () => {
    await put({ [ALL_VIEWS]: 6n });
    const [group] = await groupsOf([0]);
    expect(group?.takeover?.checkpoints).toEqual([{ name: `${ALL_VIEWS} 0/8`, from: undefined, to: checkpointAt(6n) }]);
  });

  it('move their own checkpoint to the position of their views, and delete those of replaced groups', async () => {
    const [own, ofTallies, ofTotals] = [[tallies, totals], [tallies], [totals]].map((some) => groupName(models, some));
    await put({ [`${ofTotals} 0/8`]: 9n, [`${ofTallies} 0/8`]: 9n, [`${own} 0/8`]: 4n, 'counts.v1 0/8': 20n });
    const group = (await groupsOf([0])).find(({ name }) => name === own);
    const deleted = [ofTallies, ofTotals].map((name) => ({
      name: `${name} 0/8`,
      from: checkpointAt(9n),
      to: undefined,
    }));
    expect(group?.takeover?.checkpoints).toEqual([
      { name: `${own} 0/8`, from: checkpointAt(4n), to: checkpointAt(9n) },
      ...deleted,
    ]);
  });

  it('do not delete their own checkpoint where one of their views is in another group', async () => {
    const [own, ofTotals] = [[tallies, totals], [totals]].map((some) => groupName(models, some));
    await put({ [`${ofTotals} 0/8`]: 9n, [`${own} 0/8`]: 9n, 'counts.v1 0/8': 20n });
    const group = (await groupsOf([0])).find(({ name }) => name === own);
    const names = group?.takeover?.checkpoints.map(({ name }) => name) ?? [];
    expect([names.length, new Set(names).size]).toEqual([2, 2]);
    for (const each of group?.takeover?.checkpoints ?? [])
      expect(each.to === undefined).toBe(each.name === `${ofTotals} 0/8`);
  });

  it('take over the checkpoint of another release, and leave it there', async () => {
    await put({ [`${ALL_VIEWS} 0/8`]: 2n, 'tallies.v1 1/8': 4n, 'counts.v1 1/8': 4n, 'totals.v1 1/8': 4n });
    const [group] = await groupsOf([0, 1]);
    expect(group?.takeover).toEqual({
      documents: [],
      checkpoints: [{ name: `${ALL_VIEWS} 1/8`, from: undefined, to: checkpointAt(4n) }],
      parked: [],
    });
  });
});
