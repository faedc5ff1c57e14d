import type { StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';
import { checkpointName, type Partition, viewPartitionOf, viewsName } from './partitions.js';
import type { CheckpointMove, ParkedMove, ParkedStream, ReadStore, WriteBatch } from './read-store.js';
import { groupName, isReplacedByGroup, type StoredProgress, storedProgress } from './stored-progress.js';

type Models = EventSources['models'];

/**
 * Views that are at the same position in each of some partitions: one run projects them, with one checkpoint for each
 * partition.
 */
export type ViewGroup = {
  /** Base name of the group's checkpoints. */
  readonly name: string;
  readonly models: Models;
  readonly partitions: readonly Partition[];
  /** True when other views are ahead in each of these partitions. */
  readonly isBuilding: boolean;
  /**
   * Writes the checkpoints and parked streams that the group takes over from those its views were in, and deletes those
   * of the groups of this release that it replaces. To be written before the group runs; `undefined` when the group has
   * its checkpoints already, or begins at the beginning of the log.
   */
  readonly takeover: WriteBatch | undefined;
};

type Level = Pick<ViewGroup, 'models' | 'isBuilding'>;

/** The views by their position in a partition, those that are ahead first. */
const levelsOf = (models: Models, progress: StoredProgress, partition: Partition): readonly Level[] => {
  const byPosition = new Map<bigint, Models[number][]>();
  for (const model of models) {
    const position = progress.startOf(model.collection.name, partition)?.checkpoint.position ?? 0n;
    byPosition.set(position, [...(byPosition.get(position) ?? []), model]);
  }
  const positions = [...byPosition.keys()].sort((a, b) => (a < b ? 1 : -1));
  return positions.map((position, at) => ({ models: byPosition.get(position) ?? [], isBuilding: at > 0 }));
};

type Planned = Level & { readonly partitions: Partition[] };

const plannedOf = (models: Models, progress: StoredProgress, partitions: readonly Partition[]): readonly Planned[] => {
  const planned = new Map<string, Planned>();
  for (const partition of partitions) {
    for (const level of levelsOf(models, progress, partition)) {
      const key = `${viewsName(level)} ${level.isBuilding}`;
      const known = planned.get(key) ?? { ...level, partitions: [] };
      known.partitions.push(partition);
      planned.set(key, known);
    }
  }
  return [...planned.values()];
};

/**
 * The parked streams of some groups in one partition; of a stream that several groups have parked, the lowest position.
 */
const lowestParked = (
  parked: readonly ParkedStream[],
  groups: ReadonlySet<string>,
): ReadonlyMap<string, ParkedStream> => {
  const lowest = new Map<string, ParkedStream>();
  for (const each of parked) {
    const known = lowest.get(each.stream);
    if (groups.has(each.views) && !(known && known.position <= each.position)) lowest.set(each.stream, each);
  }
  return lowest;
};

const parkedMoves = (
  name: string,
  parked: readonly ParkedStream[],
  { from, replaced }: { readonly from: ReadonlySet<string>; readonly replaced: readonly string[] },
): readonly ParkedMove[] => {
  const wanted = lowestParked(parked, from);
  const ofGroup = lowestParked(parked, new Set([name]));
  const moves = [...new Set([...wanted.keys(), ...ofGroup.keys()])].map((stream): ParkedMove => {
    const to = wanted.get(stream);
    return {
      views: name,
      stream,
      from: ofGroup.get(stream)?.position,
      to: to && { position: to.position, reason: to.reason },
    };
  });
  const removed = parked.filter(({ views }) => replaced.includes(views));
  return [
    ...moves.filter(({ from: before, to }) => before !== to?.position),
    ...removed.map(({ views, stream, position }): ParkedMove => ({ views, stream, from: position, to: undefined })),
  ];
};

type Stored = {
  readonly models: Models;
  readonly progress: StoredProgress;
  readonly parked: readonly ParkedStream[];
};

/** The takeover in one partition; without moves where the group has its checkpoint already. */
const takeoverIn = (
  { models, progress, parked }: Stored,
  group: Planned & { readonly name: string },
  partition: Partition,
): Required<Pick<WriteBatch, 'checkpoints' | 'parked'>> => {
  const starts = group.models.flatMap(({ collection }) => progress.startOf(collection.name, partition) ?? []);
  const name = checkpointName(group.name, partition);
  const from = progress.checkpoint(name);
  const [start] = starts;
  const isOwn = from !== undefined && starts.every((each) => each.group === group.name);
  if (start === undefined || isOwn) return { checkpoints: [], parked: [] };
  const groups = new Set(starts.map((each) => each.group));
  const replaced = [...groups].filter((each) => each !== group.name && isReplacedByGroup(models, each, group.models));
  const deleted = replaced.map((each): CheckpointMove => {
    const name = checkpointName(each, partition);
    return { name, from: progress.checkpoint(name), to: undefined };
  });
  const parkedHere = parked.filter(({ stream }) => viewPartitionOf(stream as StreamName) === partition);
  return {
    checkpoints: [{ name, from, to: start.checkpoint }, ...deleted],
    parked: parkedMoves(group.name, parkedHere, { from: groups, replaced }),
  };
};

const groupOf = (stored: Stored, planned: Planned): ViewGroup => {
  const name = groupName(stored.models, planned.models);
  const parts = planned.partitions.map((partition) => takeoverIn(stored, { ...planned, name }, partition));
  const checkpoints = parts.flatMap((each) => each.checkpoints);
  const parked = parts.flatMap((each) => each.parked);
  return { ...planned, name, takeover: checkpoints.length > 0 ? { documents: [], checkpoints, parked } : undefined };
};

/** Divides the views into groups by their stored progress. Without partitions, all views are one group. */
export const viewGroups = async (
  readStore: Pick<ReadStore, 'checkpoints' | 'parked'>,
  { models }: Pick<EventSources, 'models'>,
  partitions: readonly Partition[],
): Promise<readonly ViewGroup[]> => {
  const progress = await storedProgress(readStore, { models });
  const stored: Stored = { models, progress, parked: await readStore.parked() };
  const planned = plannedOf(models, progress, partitions);
  if (planned.length === 0) return [groupOf(stored, { models, partitions: [], isBuilding: false })];
  return planned.map((each) => groupOf(stored, each));
};
