import type { RecordedEvent } from '../../services/kernel/event.js';
import type { EventSources } from './event-reader.js';
import type { Checkpoint, ParkedStream, Put, ReadStore, WriteBatch } from './read-store.js';

/** Writes changes with the checkpoint that they stand for, and knows which streams are set aside. */
export type ViewWriter = {
  position(): bigint;
  /** Writes changes and moves the checkpoint; a position below it leaves it where it is. */
  write(changes: readonly Put[], to: bigint): Promise<void>;
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

/** The name of the checkpoint of these models: another version of one has another, and grows from the beginning. */
export const checkpointName = ({ models }: Pick<EventSources, 'models'>): string =>
  models
    .map(({ collection }) => `${collection.name}.v${collection.version}`)
    .sort()
    .join(' ');

/** Starts from what the store has: a checkpoint of this log, or none. */
export const viewWriter = async (readStore: ReadStore, logId: string, name: string): Promise<ViewWriter> => {
  const parked = new Map((await readStore.parked()).map((each) => [each.stream, each]));
  let checkpoint: Checkpoint | undefined = await readStore.checkpoint(name);

  const position = (): bigint => checkpoint?.position ?? 0n;
  const write = async (documents: readonly Put[], to: bigint, more: Partial<WriteBatch> = {}): Promise<void> => {
    const moved = { logId, position: to > position() ? to : position() };
    await readStore.write({ documents, checkpoint: { name, from: checkpoint, to: moved }, ...more });
    checkpoint = moved;
  };

  return {
    position,
    write,
    park: async (event, reason) => {
      const entry = { stream: event.stream, position: event.position, reason };
      await write([], event.position, { parked: [entry] });
      parked.set(event.stream, entry);
    },
    unpark: (stream) => parked.delete(stream),
    resumed: (stream) => write([], position(), { resumed: [stream] }),
    isParked: (event) => {
      const since = parked.get(event.stream)?.position;
      return since !== undefined && event.position >= since;
    },
    parked: () => [...parked.values()],
  };
};
