import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { EventSources } from './event-reader.js';
import { checkpointName, lowestOf, type Partition, viewPartitionOf, PARTITIONS, viewsName } from './partitions.js';
import type { Checkpoint, CheckpointMove, ParkedMove, ParkedStream, DocumentWrite, ReadStore } from './read-store.js';

/** Writes documents and checkpoints together, and keeps track of the parked streams. */
export type ViewWriter = {
  /** The lowest checkpoint over the partitions. */
  position(): bigint;
  /** The checkpoint of the partition that a stream belongs to. */
  positionOf(stream: StreamName): bigint;
  /** True when an event above `position()` is of one of the partitions, and above that partition's checkpoint. */
  wants(event: RecordedEvent): boolean;
  /**
   * Writes changes and moves the checkpoints to `to`. Checkpoints at or above `to` stay where they are; without `to`,
   * all do.
   */
  write(changes: readonly DocumentWrite[], to?: bigint): Promise<void>;
  /**
   * Parks a stream from this event on. Also moves the checkpoints to the event, as `write` does, unless a parked stream
   * is being resumed: everything before the event must have been written.
   */
  park(event: RecordedEvent, reason: string): Promise<void>;
  /**
   * Resumes a parked stream: `work` projects and writes its events. Each write moves the position from which the stream
   * is parked, and no checkpoint, so each of these events is written once even if the work is interrupted.
   *
   * @returns true when the stream has caught up; false when one of its events has parked it again.
   */
  resume(parked: ParkedStream, work: () => Promise<void>): Promise<boolean>;
  /** True when the event is of a parked stream, at or above the position from which the stream is parked. */
  isParked(event: RecordedEvent): boolean;
  parked(): readonly ParkedStream[];
};

/** The views to write, and their partitions. */
export type ViewWriterOptions = Pick<EventSources, 'models'> & {
  readonly readStore: ReadStore;
  readonly logId: string;
  /** All by default. */
  readonly partitions?: readonly Partition[];
  /** Base name of the checkpoints and of the parked streams; by default that of the models. */
  readonly name?: string;
};

const nameOf = ({ name, models }: ViewWriterOptions): string => name ?? viewsName({ models });

type PartitionCheckpoint = { readonly name: string; checkpoint: Checkpoint | undefined; position: bigint };

type Checkpoints = Pick<ViewWriter, 'position' | 'positionOf' | 'wants'> & {
  /** Moves of all checkpoints up to a position, never backwards. */
  readonly moves: (to: bigint) => readonly CheckpointMove[];
  readonly moved: (moves: readonly CheckpointMove[]) => void;
};

const openCheckpoints = async (options: ViewWriterOptions): Promise<Checkpoints> => {
  const { readStore, logId, partitions = PARTITIONS } = options;
  const names = partitions.map((partition) => [partition, checkpointName(nameOf(options), partition)] as const);
  const stored = await readStore.checkpoints(names.map(([, name]) => name));
  const kept = new Map<Partition, PartitionCheckpoint>();
  for (const [partition, name] of names) {
    const checkpoint = stored.get(name);
    kept.set(partition, { name, checkpoint, position: checkpoint?.position ?? 0n });
  }
  const position = (): bigint => lowestOf([...kept.values()].map((each) => each.position));
  const positionOf = (stream: StreamName): bigint => kept.get(viewPartitionOf(stream))?.position ?? 0n;
  // Nearly always all partitions are at one position, and then no event has to be assigned to a partition.
  const isEven = (): boolean => [...kept.values()].every((each) => each.position === position());
  let wantsAll = kept.size === PARTITIONS.length && isEven();
  return {
    position,
    positionOf,
    wants: (event) => {
      if (wantsAll) return true;
      const checkpoint = kept.get(viewPartitionOf(event.stream));
      return checkpoint !== undefined && event.position > checkpoint.position;
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

const writesOf = (options: ViewWriterOptions, checkpoints: Checkpoints, parked: Map<string, ParkedStream>): Writes => {
  const { readStore } = options;
  const views = nameOf(options);
  // While a stream is being resumed, it is not in `parked`; this holds its current position.
  let resuming: ParkedStream | undefined;

  const commit = async (
    documents: readonly DocumentWrite[],
    to: bigint,
    moves: readonly ParkedMove[] = [],
  ): Promise<void> => {
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

  const write = async (documents: readonly DocumentWrite[], to = 0n): Promise<void> => {
    if (resuming === undefined) return commit(documents, to);
    const { stream, position: parkedAt } = resuming;
    if (parked.has(stream)) return commit(documents, 0n); // parked again by this work: its position stays
    const next = { ...resuming, position: parkedAt > to ? parkedAt : to + 1n };
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

/** Creates a writer that starts from the stored checkpoints and parked streams; checkpoints must be of this log. */
export const viewWriter = async (options: ViewWriterOptions): Promise<ViewWriter> => {
  const { readStore, partitions = PARTITIONS } = options;
  const views = nameOf(options);
  const isOwn = (each: ParkedStream): boolean =>
    each.views === views && partitions.includes(viewPartitionOf(each.stream as StreamName));
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
