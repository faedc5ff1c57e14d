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
import type { Checkpoint, CheckpointMove, ParkedMove, ParkedStream, Put, ReadStore } from './read-store.js';

/** Writes changes with the checkpoints that they stand for, and knows which streams are set aside. */
export type ViewWriter = {
  /** The lowest over the partitions. */
  position(): bigint;
  /** Of the partition that a stream belongs to. */
  positionOf(stream: StreamName): bigint;
  /** Whether an event is of the partitions, and above the checkpoint of its own. */
  wants(event: RecordedEvent): boolean;
  /**
   * Writes changes and moves the checkpoints; those that are at the position or above it stay where they are, and all
   * do where there is no position.
   */
  write(changes: readonly Put[], to?: bigint): Promise<void>;
  /** Sets a stream aside from this event on. */
  park(event: RecordedEvent, reason: string): Promise<void>;
  /**
   * Takes up a parked stream while the work writes what it makes of its events: the position from which it is parked
   * moves with what is written, and no checkpoint does. So each of these events is written once, wherever this ends.
   *
   * @returns whether it is caught up; otherwise an event of it has parked it again.
   */
  resume(parked: ParkedStream, work: () => Promise<void>): Promise<boolean>;
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

type Writes = Pick<ViewWriter, 'write' | 'park' | 'resume'>;

const writesOf = (
  { readStore, models }: ViewWriterOptions,
  checkpoints: Checkpoints,
  parked: Map<string, ParkedStream>,
): Writes => {
  const views = viewsName({ models });
  // While a stream is taken up, it is not among the parked ones, and this is where it stands.
  let resuming: ParkedStream | undefined;

  const commit = async (documents: readonly Put[], to: bigint, moves: readonly ParkedMove[] = []): Promise<void> => {
    const batch = { documents, checkpoints: checkpoints.moves(to), parked: moves };
    await readStore.write(batch);
    checkpoints.moved(batch.checkpoints);
  };

  const moveOf = (stream: string, from: ParkedStream | undefined, to: ParkedStream | undefined): ParkedMove => ({
    views,
    stream,
    from: from?.position,
    to: to && { position: to.position, reason: to.reason },
  });

  const write = async (documents: readonly Put[], to = 0n): Promise<void> => {
    if (resuming === undefined) return commit(documents, to);
    const { stream, position: place } = resuming;
    if (parked.has(stream)) return commit(documents, 0n); // parked again: it stays there
    const next = { ...resuming, position: place > to ? place : to + 1n };
    await commit(documents, 0n, [moveOf(stream, resuming, next)]);
    resuming = next;
  };

  const park = async ({ stream, position }: RecordedEvent, reason: string): Promise<void> => {
    const entry = { views, stream, position, reason };
    await commit([], resuming ? 0n : position, [moveOf(stream, resuming, entry)]);
    parked.set(stream, entry);
    if (resuming) resuming = entry;
  };

  const resume = async (from: ParkedStream, work: () => Promise<void>): Promise<boolean> => {
    const { stream } = from;
    resuming = from;
    parked.delete(stream);
    try {
      await work();
      if (parked.has(stream)) return false;
      await commit([], 0n, [moveOf(stream, resuming, undefined)]);
      return true;
    } catch (error) {
      parked.set(stream, resuming);
      throw error;
    } finally {
      resuming = undefined;
    }
  };

  return { write, park, resume };
};

/** Starts from what the store has: checkpoints of this log, or none. */
export const viewWriter = async (options: ViewWriterOptions): Promise<ViewWriter> => {
  const { readStore, partitions = PARTITIONS } = options;
  const views = viewsName(options);
  const isOwn = (each: ParkedStream): boolean =>
    each.views === views && partitions.includes(partitionOf(each.stream as StreamName));
  const parked = new Map((await readStore.parked()).filter(isOwn).map((each) => [each.stream, each]));
  const checkpoints = await openCheckpoints(options);
  return {
    ...writesOf(options, checkpoints, parked),
    position: checkpoints.position,
    positionOf: checkpoints.positionOf,
    wants: checkpoints.wants,
    isParked: (event) => {
      const since = parked.get(event.stream)?.position;
      return since !== undefined && event.position >= since;
    },
    parked: () => [...parked.values()],
  };
};
