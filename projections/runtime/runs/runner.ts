import { CheckpointMoved } from '../../../services/kernel/fault.js';
import { logEndText } from '../../../services/kernel/log-readers/log-end.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { isMoved, retryWhileUnavailable } from './group-run.js';
import { type PartitionRun, type PartitionRunOptions, runPartitions } from './partition-run.js';
import { oneByOne } from '../one-by-one.js';
import { highestOf, MAX_POSITION, type Partition, PARTITIONS } from '../partitions.js';
import type { Checkpoint, ParkedStream } from '../read-store.js';
import { storedProgress } from '../stored-progress.js';

/** Options of a runner. */
export type RunnerOptions = Omit<PartitionRunOptions, 'serially' | 'isClosed'> & {
  /** Partitions assigned at the start; all by default. */
  readonly partitions?: readonly Partition[];
  /** Called when the views are rebuilt: they are of another log, ahead of a local log, or gone. */
  readonly onStartOver?: (reason: string) => void;
  /** Called at the start when the log ends before a checkpoint: the views wait until the log has caught up. */
  readonly onWait?: (reason: string) => void;
  /** Called when a run has ended because another process has moved a checkpoint. */
  readonly onRefused?: () => void;
};

/** Views that follow the log. */
export interface RunningProjections {
  /** The lowest checkpoint over the assigned partitions of the views in service. */
  position(): bigint;
  /** The parked streams of the assigned partitions. */
  parked(): readonly ParkedStream[];
  /** Retries a stream, if it is a parked one of the assigned partitions. */
  retryParked(stream: StreamName): Promise<void>;
  /**
   * Replaces the assigned partitions. When the promise resolves, the previous ones no longer follow the log. It rejects
   * when the views could not be opened: while a store is unavailable, opening is tried again, with the new partitions;
   * after any other error `ended` rejects, too.
   */
  assign(partitions: readonly Partition[]): Promise<void>;
  /**
   * Resolves when it was closed. Rejects when the log or the store fails, or when another process has replaced the
   * stored views by those of another log, or has brought them ahead of a local one.
   */
  readonly ended: Promise<void>;
  /** Finishes the current page, then ends. The log and the store stay open. */
  close(): Promise<void>;
}

/** The checkpoints that the views start from. */
const startsOf = async ({ readStore, models }: RunnerOptions): Promise<readonly Checkpoint[]> => {
  const progress = await storedProgress(readStore, { models });
  return models.flatMap(({ collection }) =>
    PARTITIONS.flatMap((partition) => progress.startOf(collection.name, partition)?.checkpoint ?? []),
  );
};

/** The head of the log, and the highest checkpoint; `undefined` when that is not above the head. */
const ahead = async (
  options: RunnerOptions,
): Promise<{ readonly head: bigint; readonly reached: bigint } | undefined> => {
  // The head is read last: another process may move a checkpoint beyond a head that was read before.
  const reached = highestOf((await startsOf(options)).map(({ position }) => position));
  const head = await options.log.head();
  return reached > head ? { head, reached } : undefined;
};

const reasonToRebuild = async (options: RunnerOptions): Promise<string | undefined> => {
  const { log } = options;
  if ((await startsOf(options)).some(({ logId }) => logId !== log.logId)) return 'the views are of another log';
  return log.isLocal && (await ahead(options)) ? 'the views are ahead of the log' : undefined;
};

/**
 * Warns when the log ends before a checkpoint of the views: then the log is read from a node that lags behind, and the
 * views keep what they have projected.
 */
const warnIfLogIsBehind = async (options: RunnerOptions): Promise<void> => {
  const found = await ahead(options);
  if (found) options.onWait?.(logEndText(found.head, found.reached));
};

const prepare = ({ readStore, models }: RunnerOptions): Promise<void> =>
  readStore.prepare(models.map(({ collection }) => collection));

/**
 * Prepares the collections and indexes again when the views were deleted while running; they are then rebuilt from the
 * log.
 */
const prepareDeletedViews = async (options: RunnerOptions, before: bigint): Promise<void> => {
  if ((await startsOf(options)).length > 0) return;
  if (before > 0n && before < MAX_POSITION) options.onStartOver?.('the views were deleted');
  await prepare(options);
};

const startOver = async (options: RunnerOptions): Promise<void> => {
  const reason = await reasonToRebuild(options);
  if (reason === undefined) return;
  options.onStartOver?.(reason);
  await options.readStore.clear();
};

/**
 * Reports that another process has moved a checkpoint, and makes sure that it reads the same log.
 *
 * @throws {CheckpointMoved} when the stored views are now of another log, or ahead of a local one.
 */
const assertSameLog = async (options: RunnerOptions): Promise<void> => {
  options.onRefused?.();
  const reason = await reasonToRebuild(options);
  if (reason !== undefined) throw new CheckpointMoved(`another process has moved the checkpoint, and ${reason}`);
};

/**
 * Keeps partitions of the views up to date with the log: catches up from their checkpoints, then follows live. Parked
 * streams are retried first: an earlier release may have parked them. When another process has moved a checkpoint,
 * projecting starts again from the stored checkpoints. Views that at the start are of another log, or ahead of a local
 * one, are deleted and rebuilt.
 *
 * @throws {Fault} when the log or the store cannot be read.
 */
export const runProjections = async (options: RunnerOptions): Promise<RunningProjections> => {
  await prepare(options);
  await startOver(options);
  await warnIfLogIsBehind(options);
  const serially = oneByOne();
  const state = { isClosed: false, partitions: options.partitions ?? PARTITIONS };
  const isClosed = (): boolean => state.isClosed;
  const open = (): Promise<PartitionRun> => runPartitions({ ...options, serially, isClosed }, state.partitions);
  let opening = open();
  let run = await opening;

  const reopened = async (): Promise<PartitionRun> => {
    await prepareDeletedViews(options, run.position());
    return (opening = open());
  };

  const keepRunning = async (): Promise<void> => {
    while (!state.isClosed) {
      if (run.partitions !== state.partitions) await run.close();
      else if (await run.ended) await assertSameLog(options);
      const next = await retryWhileUnavailable(reopened, options.onUnavailable, isClosed);
      run = next ?? run;
    }
    await run.close();
  };

  const ended = keepRunning();
  return {
    position: () => run.position(),
    parked: () => run.parked(),
    retryParked: async (stream) => {
      // When another process has moved a checkpoint, the run starts again, which retries all parked streams.
      const retried = (): Promise<unknown> => run.retryParked(stream).catch(isMoved);
      await retryWhileUnavailable(retried, options.onUnavailable, isClosed);
    },
    assign: async (partitions) => {
      state.partitions = partitions;
      await (await opening).close();
    },
    ended,
    close: async () => {
      state.isClosed = true;
      await run.close();
      await ended.catch(() => undefined); // `ended` reports it
    },
  };
};
