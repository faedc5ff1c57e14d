import { CheckpointMoved } from '../../services/kernel/fault.js';
import { endsBefore } from '../../services/kernel/log-end.js';
import {
  type PartitionRun,
  type PartitionRunOptions,
  persistently,
  retried,
  runPartitions,
  type Serially,
} from './partition-run.js';
import { BEYOND, type Partition, PARTITIONS, reachedBy } from './partitions.js';
import type { Checkpoint, ParkedStream } from './read-store.js';

/** What a runner works with. */
export type RunnerOptions = Omit<PartitionRunOptions, 'serially' | 'isClosed'> & {
  /** The partitions that it begins with; all by default. */
  readonly partitions?: readonly Partition[];
  /** Called when what the store has is of another log, and the views start over. */
  readonly onStartOver?: (why: string) => void;
  /** Called at the start when the log ends before what the views have seen of it: they wait for it. */
  readonly onWait?: (why: string) => void;
  /** Called when a write was refused, since somebody else has moved a checkpoint. */
  readonly onRefused?: () => void;
};

/** Views that are kept up with the log. */
export interface RunningProjections {
  /** The lowest over its partitions. */
  position(): bigint;
  /** The streams of its partitions that are set aside. */
  parked(): readonly ParkedStream[];
  /** Tries the parked streams again, and answers those that are still parked. */
  retryParked(): Promise<readonly ParkedStream[]>;
  /** Goes on with these partitions alone; when the answer resolves, it is done with those that it had. */
  assign(partitions: readonly Partition[]): Promise<void>;
  /** Rejects when the log or the store fails; resolves when it was closed. */
  readonly ended: Promise<void>;
  /** Ends after the page in hand. The log and the store stay open. */
  close(): Promise<void>;
}

const startsOf = async ({ readStore, models }: RunnerOptions): Promise<readonly Checkpoint[]> =>
  (await reachedBy(readStore, { models })).flatMap(({ start }) => (start ? [start] : []));

const whyStartOver = async (options: RunnerOptions): Promise<string | undefined> =>
  (await startsOf(options)).some(({ logId }) => logId !== options.log.logId)
    ? 'the views are of another log'
    : undefined;

/** A log that ends before a checkpoint of its own is read from a node that lags behind: what was seen of it stays. */
const sayWhenAhead = async (options: RunnerOptions): Promise<void> => {
  const [head, starts] = [await options.log.head(), await startsOf(options)];
  const ahead = starts.find(({ position }) => position > head);
  if (ahead) options.onWait?.(endsBefore(head, ahead.position));
};

const prepare = ({ readStore, models }: RunnerOptions): Promise<void> =>
  readStore.prepare(models.map(({ collection }) => collection));

/** Views that somebody has removed meanwhile are folded again into what a start makes for them, indexes too. */
const prepareWhatIsGone = async (options: RunnerOptions, before: bigint): Promise<void> => {
  const reached = await reachedBy(options.readStore, options);
  if (reached.some(({ start }) => start !== undefined)) return;
  if (before > 0n && before < BEYOND) options.onStartOver?.('the views are gone');
  await prepare(options);
};

const oneAtATime = (): Serially => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
};

const startOver = async (options: RunnerOptions): Promise<void> => {
  const why = await whyStartOver(options);
  if (why === undefined) return;
  options.onStartOver?.(why);
  await options.readStore.clear();
};

/** Whoever has moved a checkpoint has read the same log. */
const assertOurs = async (options: RunnerOptions): Promise<void> => {
  options.onRefused?.();
  const why = await whyStartOver(options);
  if (why !== undefined) throw new CheckpointMoved(`somebody else has moved the checkpoint, and ${why}`);
};

/**
 * Keeps partitions of the views up with the log: catches up from their checkpoints, then follows live. What an earlier
 * release could not take is tried again first. Where somebody else has moved a checkpoint, it reads again from there.
 *
 * @throws {Fault} when the log or the store cannot be read, or the checkpoint is none of this log.
 */
export const runProjections = async (options: RunnerOptions): Promise<RunningProjections> => {
  const { log } = options;
  await prepare(options);
  await startOver(options);
  await sayWhenAhead(options);
  const serially = oneAtATime();
  const state = { isClosed: false, partitions: options.partitions ?? PARTITIONS };
  const isClosed = (): boolean => state.isClosed;
  const open = (): Promise<PartitionRun> => runPartitions({ ...options, serially, isClosed }, state.partitions);
  let opening = open();
  let run = await opening;

  const reopened = async (): Promise<PartitionRun> => {
    await prepareWhatIsGone(options, run.target.position());
    return (opening = open());
  };

  const keepRunning = async (): Promise<void> => {
    while (!state.isClosed) {
      if (run.partitions !== state.partitions) await run.close();
      else if (await run.ended) await assertOurs(options);
      const next = await persistently(reopened, options.onUnavailable, isClosed);
      run = next ?? run;
    }
    await run.close();
  };

  const ended = keepRunning();
  return {
    position: () => run.target.position(),
    parked: () => run.target.parked(),
    retryParked: () => serially(() => retried(log, run.target)),
    assign: async (partitions) => {
      state.partitions = partitions;
      await (await opening).close();
    },
    ended,
    close: async () => {
      state.isClosed = true;
      await run.close();
      await ended.catch(() => undefined); // said by `ended` itself
    },
  };
};
