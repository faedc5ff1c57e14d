import { sha256Hex } from '../../services/kernel/encoding/hash.js';
import type { EventSources } from './event-reader.js';
import { checkpointName, PARTITION_COUNT, type Partition, PARTITIONS, viewsName } from './partitions.js';
import type { Checkpoint, ReadStore } from './read-store.js';

type Models = EventSources['models'];

/** The start of a view in a partition. */
export type ViewStart = {
  /** The checkpoint up to which the documents of the view are complete. */
  readonly checkpoint: Checkpoint;
  /** The base name of that checkpoint: its group of views. The streams that this group has parked are not complete. */
  readonly group: string;
};

/** The progress of the views of this release, as it is stored. */
export type StoredProgress = {
  /** `undefined` for a view that starts at the beginning of the log. */
  startOf(collection: string, partition: Partition): ViewStart | undefined;
  /**
   * The stored checkpoint with this name. Where each partition has a checkpoint of the group of all views, only these
   * were read, and any other name gives `undefined`.
   */
  checkpoint(name: string): Checkpoint | undefined;
};

type Row = {
  readonly group: string;
  readonly members: ReadonlySet<string>;
  /** `undefined` for a checkpoint of all partitions, from before views were partitioned. */
  readonly partition: Partition | undefined;
  readonly checkpoint: Checkpoint;
};

const NAME = /^(?<group>.+?)(?: (?<partition>\d+)\/(?<count>\d+))?$/u;

/** Marks the names of groups that are not all views of a release: releases with other views do not share them. */
const layoutOf = (models: Models): string => `@${sha256Hex(viewsName({ models })).slice(0, 8)}`;

/** Base name of the checkpoints of a group of views, out of all views of a release. */
export const groupName = (models: Models, group: Models): string =>
  group.length === models.length ? viewsName({ models }) : `${viewsName({ models: group })} ${layoutOf(models)}`;

/** True for the name of a group of this release that a larger group of it makes superfluous. */
export const isReplacedByGroup = (models: Models, name: string, group: Models): boolean => {
  const [layout, ...members] = name.split(' ').reverse();
  const larger = viewsName({ models: group }).split(' ');
  return layout === layoutOf(models) && members.every((each) => larger.includes(each));
};

const rowOf = ([name, checkpoint]: readonly [string, Checkpoint]): readonly Row[] => {
  const { group = '', partition, count = PARTITION_COUNT } = NAME.exec(name)?.groups ?? {};
  if (Number(count) !== PARTITION_COUNT) return [];
  const number = partition === undefined ? undefined : Number(partition);
  return [{ group, members: new Set(group.split(' ')), partition: number, checkpoint }];
};

/** Precedence of a checkpoint: that of all views of this release, then those of its groups, then any other. */
const rankOf = ({ group, partition }: Row, all: string, layout: string): number => {
  if (group === all) return partition === undefined ? 2 : 3;
  return group.endsWith(layout) ? 1 : 0;
};

/** Reads the progress of the views. Callers read the parked streams afterwards: one may be parked meanwhile. */
export const storedProgress = async (
  readStore: Pick<ReadStore, 'checkpoints'>,
  { models }: Pick<EventSources, 'models'>,
): Promise<StoredProgress> => {
  const all = viewsName({ models });
  const layout = layoutOf(models);
  const current = await readStore.checkpoints(PARTITIONS.map((partition) => checkpointName(all, partition)));
  const stored = current.size === PARTITIONS.length ? current : await readStore.checkpoints();
  const rows = [...stored].flatMap(rowOf);

  const better = (one: Row | undefined, other: Row): Row => {
    if (one === undefined) return other;
    const difference = rankOf(other, all, layout) - rankOf(one, all, layout);
    const isBetter = difference > 0 || (difference === 0 && other.checkpoint.position > one.checkpoint.position);
    return isBetter ? other : one;
  };
  const rowFor = (member: string, partition: Partition): Row | undefined =>
    rows
      .filter((row) => row.members.has(member) && (row.partition ?? partition) === partition)
      .reduce<Row | undefined>(better, undefined);

  const starts = new Map(
    models.map(({ collection }) => {
      const member = viewsName({ models: models.filter((model) => model.collection === collection) });
      return [collection.name, PARTITIONS.map((partition) => rowFor(member, partition))];
    }),
  );
  return {
    startOf: (collection, partition) => starts.get(collection)?.[partition],
    checkpoint: (name) => stored.get(name),
  };
};
