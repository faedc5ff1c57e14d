import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';
import {
  checkpointName,
  lowestOf,
  type Partition,
  partitionOf,
  PARTITIONS,
  reachedBy,
  viewsName,
} from './partitions.js';
import type { Checkpoint, CheckpointMove, ParkedStream, Put, ReadStore, WriteBatch } from './read-store.js';

/** Writes changes with the checkpoints that they stand for, and knows which streams are set aside. */
export type ViewWriter = {
  /** The lowest over the partitions. */
  position(): bigint;
  /** Of the partition that a stream belongs to. */
  positionOf(stream: StreamName): bigint;
  /** Whether an event is of the partitions, and above the checkpoint of its own. */
  wants(event: RecordedEvent): boolean;
  /** Writes changes and moves the checkpoints; those that are at the position or above it stay where they are. */
  write(changes: readonly Put[], to: bigint): Promise<void>;
  /** Leaves the checkpoints where they are, whatever is written meanwhile. */
  inPlace<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Sets a stream aside from this event on. */
  park(event: RecordedEvent, reason: string): Promise<void>;
  /** Takes a stream up again, for good when `resumed` follows. */
  unpark(stream: string): void;
  /** Notes that a stream has been caught up. */
  resumed(stream: string): Promise<void>;
  /** Whether the event belongs to what is set aside. */
  isParked(event: RecordedEvent): boolean;
  parked(): readonly ParkedStream[];
};

/** Which views are written, and which partitions of them. */
export type ViewWriterOptions = Pick<EventSources, 'models'> & {
  readonly readStore: ReadStore;
  readonly logId: string;
  /** All, where none are named. */
  readonly partitions?: readonly Partition[];
};

type Kept = { readonly name: string; checkpoint: Checkpoint | undefined; position: bigint };

type Checkpoints = Pick<ViewWriter, 'position' | 'positionOf' | 'wants'> & {
  /** Moves up to a position, none of them back. */
  readonly moves: (to: bigint) => readonly CheckpointMove[];
  readonly moved: (moves: readonly CheckpointMove[]) => void;
};

const openCheckpoints = async ({
  readStore,
  logId,
  models,
  partitions = PARTITIONS,
}: ViewWriterOptions): Promise<Checkpoints> => {
  const reached = await reachedBy(readStore, { models }, partitions);
  const views = viewsName({ models });
  const kept = new Map<Partition, Kept>();
  for (const [at, partition] of partitions.entries()) {
    const { checkpoint, start } = reached[at] ?? {};
    kept.set(partition, { name: checkpointName(views, partition), checkpoint, position: start?.position ?? 0n });
  }
  const position = (): bigint => lowestOf([...kept.values()].map((each) => each.position));
  const positionOf = (stream: StreamName): bigint => kept.get(partitionOf(stream))?.position ?? 0n;
  // All of them at one position is what there is nearly always, and then there is nothing to tell apart.
  const isEven = (): boolean => [...kept.values()].every((each) => each.position === position());
  let wantsAll = kept.size === PARTITIONS.length && isEven();
  return {
    position,
    positionOf,
    wants: (event) => {
      if (wantsAll) return true;
      const own = kept.get(partitionOf(event.stream));
      return own !== undefined && event.position > own.position;
    },
    moves: (to) =>
      [...kept.values()].map(({ name, checkpoint: from, position: at }) => ({
        name,
        from,
        to: { logId, position: to > at ? to : at },
      })),
    moved: (moves) => {
      const to = new Map(moves.map((move) => [move.name, move.to]));
      for (const each of kept.values()) {
        each.checkpoint = to.get(each.name);
        each.position = each.checkpoint?.position ?? 0n;
      }
      wantsAll ||= kept.size === PARTITIONS.length && isEven();
    },
  };
};

/** Starts from what the store has: checkpoints of this log, or none. */
export const viewWriter = async (options: ViewWriterOptions): Promise<ViewWriter> => {
  const { readStore, partitions = PARTITIONS } = options;
  const own = (await readStore.parked()).filter(({ stream }) => partitions.includes(partitionOf(stream as StreamName)));
  const parked = new Map(own.map((each) => [each.stream, each]));
  const checkpoints = await openCheckpoints(options);
  const { position, positionOf, wants } = checkpoints;
  let stays = false;

  const write = async (documents: readonly Put[], to: bigint, more: Partial<WriteBatch> = {}): Promise<void> => {
    const moves = checkpoints.moves(stays ? 0n : to);
    await readStore.write({ documents, checkpoints: moves, ...more });
    checkpoints.moved(moves);
  };

  return {
    position,
    positionOf,
    wants,
    write,
    inPlace: async (work) => {
      stays = true;
      try {
        return await work();
      } finally {
        stays = false;
      }
    },
    park: async (event, reason) => {
      const entry = { stream: event.stream, position: event.position, reason };
      await write([], event.position, { parked: [entry] });
      parked.set(event.stream, entry);
    },
    unpark: (stream) => parked.delete(stream),
    resumed: (stream) => write([], 0n, { resumed: [stream] }),
    isParked: (event) => {
      const since = parked.get(event.stream)?.position;
      return since !== undefined && event.position >= since;
    },
    parked: () => [...parked.values()],
  };
};
