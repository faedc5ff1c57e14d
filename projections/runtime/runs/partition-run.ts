import { ownTimeOf, type RecordedEvent } from '../../../services/kernel/event.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import {
  type FollowingGroup,
  projectLog,
  type GroupRun,
  type GroupRunOptions,
  isMoved,
  openViewGroup,
  retryParked,
  retryWhileUnavailable,
} from './group-run.js';
import { highestOf, lowestOf, type Partition } from '../partitions.js';
import type { ParkedStream } from '../read-store.js';
import { viewGroups } from '../view-groups.js';

/** One run that projects the log into partitions of the views, from their checkpoints on. */
export type PartitionRun = FollowingGroup & {
  readonly partitions: readonly Partition[];
  /** The lowest position over the partitions of the views in service. */
  position(): bigint;
  parked(): readonly ParkedStream[];
  /** Retries a parked stream. */
  retryParked(stream: StreamName): Promise<void>;
};

/** Progress of a run. */
export type RunProgress = {
  /** The lowest position over the partitions of the views in service. */
  readonly position: bigint;
  /**
   * Milliseconds between the recording of the last projected event and the commit that made it visible; 0 after a batch
   * without events.
   */
  readonly lagMs: number;
  /** Number of parked streams. */
  readonly parked: number;
  /** The positions of the views that are being built, by the names of their collections; absent without such views. */
  readonly building?: ReadonlyMap<string, bigint>;
};

/** Options of a run. */
export type PartitionRunOptions = GroupRunOptions & {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called at the start, when a batch has been written, and after each retry of a parked stream. */
  readonly onProgress: (progress: RunProgress) => void;
};

/** The groups of a run: those in service, and those that are being built. */
type Groups = { readonly inService: readonly GroupRun[]; readonly building: readonly GroupRun[] };

const positionOf = (runs: readonly GroupRun[]): bigint => lowestOf(runs.map(({ target }) => target.position()));

const parkedIn = ({ inService, building }: Groups): readonly ParkedStream[] => {
  const all = [...building, ...inService].flatMap(({ target }) => target.parked());
  return [...new Map(all.map((each) => [each.stream, each])).values()];
};

const buildingPositions = ({ building }: Groups): ReadonlyMap<string, bigint> => {
  const names = new Set(building.flatMap(({ group }) => group.models.map(({ collection }) => collection.name)));
  const hasCollection = ({ group }: GroupRun, name: string): boolean =>
    group.models.some(({ collection }) => collection.name === name);
  return new Map([...names].map((name) => [name, positionOf(building.filter((run) => hasCollection(run, name)))]));
};

/** The age of an event; 0 where the event does not say when it was recorded. */
const ageOf = (event: RecordedEvent, atMs: number): number => Math.max(0, atMs - (ownTimeOf(event) ?? atMs));

/**
 * Makes the functions that report progress: after a commit of a group, and at any other time, with the lag as it was.
 * The lag is that of the last event of a known category in the groups in service: events that other applications wrote
 * into the log do not say when they were recorded.
 */
const reporter = ({ now, onProgress }: PartitionRunOptions, groups: Groups) => {
  let lagMs = 0;
  const report = (): void =>
    onProgress({
      position: positionOf(groups.inService),
      lagMs,
      parked: parkedIn(groups).length,
      ...(groups.building.length > 0 && { building: buildingPositions(groups) }),
    });
  const reportCommit = ({ group }: GroupRun, last: RecordedEvent | undefined): void => {
    if (!group.isBuilding) lagMs = last ? ageOf(last, now()) : 0;
    report();
  };
  return { report, reportCommit };
};

/**
 * Projects the log into a group up to a position that the log has. The group must have written what it gathered. Pages
 * that it was given after its checkpoint then had no event of the group, so reading them again changes nothing.
 */
const projectUpTo = async (options: PartitionRunOptions, { target }: GroupRun, end: bigint): Promise<void> => {
  const { log, serially, onUnavailable, isClosed } = options;
  if (target.position() >= end) return;
  for await (const page of log.readLog({ after: target.position() })) {
    const to = page.position < end ? page.position : end;
    const events = page.events.filter((event) => event.position <= end && target.wants(event));
    await retryWhileUnavailable(() => serially(() => target.take(events, to)), onUnavailable, isClosed);
    if (to === end || isClosed()) return;
  }
};

/** Brings all groups to one position, so that they can be opened again as one. */
const align = async (options: PartitionRunOptions, runs: readonly GroupRun[]): Promise<void> => {
  const { serially, onUnavailable, isClosed } = options;
  // A group may have gathered events above the positions of others, and its documents cannot go back to these.
  for (const { target } of runs)
    await retryWhileUnavailable(() => serially(() => target.flush()), onUnavailable, isClosed);
  const end = highestOf(runs.map(({ target }) => target.position()));
  for (const run of runs) await projectUpTo(options, run, end);
  // A node of the log that lags may end before that position; the next attempt follows when the groups are opened.
  if (positionOf(runs) < end) await options.pauseAfterBuilding?.();
};

/** Follows the log with all groups until one of them ends, or one that is being built has reached those in service. */
const followAll = (
  options: PartitionRunOptions,
  groups: Groups,
  { reportCommit }: Pick<ReturnType<typeof reporter>, 'reportCommit'>,
): FollowingGroup => {
  const runs = [...groups.inService, ...groups.building];
  let isClosing = false;
  let isReached = false;
  let onReached = (): void => undefined;
  const reached = new Promise<void>((resolve) => (onReached = resolve));

  const following = runs.map((run) =>
    projectLog(options, run, {
      accepts: ({ position }) => {
        if (!run.group.isBuilding) return true;
        if (!isReached && position < positionOf(groups.inService)) return true;
        isReached = true;
        onReached();
        return false;
      },
      onBatch: (last) => reportCommit(run, last),
    }),
  );
  const closeAll = async (): Promise<void> => {
    await Promise.all(following.map((each) => each.close()));
  };

  const untilEnded = async (): Promise<boolean> => {
    const ends = following.map((each) => each.ended);
    try {
      await Promise.race([reached, ...ends]);
    } finally {
      await closeAll();
    }
    if ((await Promise.all(ends)).includes(true)) return true;
    if (isReached && !isClosing) await align(options, runs);
    return false;
  };

  const ended = untilEnded().catch(isMoved);
  return {
    ended,
    close: async () => {
      isClosing = true;
      await closeAll();
      await ended.catch(() => undefined); // `ended` reports it
    },
  };
};

const opened = async (options: PartitionRunOptions, partitions: readonly Partition[]): Promise<PartitionRun> => {
  const { log, readStore, serially } = options;
  const runs: GroupRun[] = [];
  for (const group of await viewGroups(readStore, options, partitions)) runs.push(await openViewGroup(options, group));
  const groups: Groups = {
    inService: runs.filter(({ group }) => !group.isBuilding),
    building: runs.filter(({ group }) => group.isBuilding),
  };
  const { report, reportCommit } = reporter(options, groups);
  report();
  return {
    partitions,
    position: () => positionOf(groups.inService),
    parked: () => parkedIn(groups),
    retryParked: async (stream) => {
      for (const { target } of runs) await serially(() => retryParked(log, target, stream));
      report();
    },
    ...followAll(options, groups, { reportCommit }),
  };
};

/** Starts a run at the stored checkpoints. Starts again when another process moves a checkpoint meanwhile. */
export const runPartitions = async (
  options: PartitionRunOptions,
  partitions: readonly Partition[],
): Promise<PartitionRun> => {
  for (;;) {
    try {
      return await opened(options, partitions);
    } catch (error) {
      isMoved(error);
    }
  }
};
