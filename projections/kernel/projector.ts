import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type Entry, eventReader, type EventSources } from './event-reader.js';
import { type Folding, folding, PoisonEntry } from './folding.js';
import { emptyPart, narrowed, PART_LIMITS, type PartLimits } from './parts.js';
import type { ParkedStream, ReadStore } from './read-store.js';
import { checkpointName, type ViewWriter, viewWriter } from './view-writer.js';

/** What a projector works with. */
export type ProjectorOptions = EventSources & {
  readonly readStore: ReadStore;
  /** The log that the events are from. */
  readonly logId: string;
  /** `park`: a stream that fails is set aside. `stop`: it fails the projector. */
  readonly onPoison: 'park' | 'stop';
  readonly limits?: PartLimits;
  /** How many bytes of stored documents are kept decoded between writes. */
  readonly cacheBytes?: number;
};

/** Takes events into the views, part by part. One call at a time. */
export type Projector = {
  /** Takes events, in order, and moves the checkpoint to a position that is not below the last of them. */
  take(events: readonly RecordedEvent[], to: bigint): Promise<void>;
  /** Takes the rest of a parked stream, page by page, up to the checkpoint; answers whether it came through. */
  resume(stream: StreamName, pages: AsyncIterable<readonly RecordedEvent[]>): Promise<boolean>;
  position(): bigint;
  parked(): readonly ParkedStream[];
};

/** Decoded, this is some ten times as much. */
const CACHE_BYTES = 8 * 1024 * 1024;

const failed = ({ event }: Entry, { message, cause }: PoisonEntry): Error =>
  new Error(
    `the views cannot take ${event.type} at position ${event.position.toString()} of stream ${event.stream}: ${message}`,
    { cause },
  );

type TakePart = (entries: readonly Entry[], to: bigint) => Promise<void>;

/** Folds and writes entries together, and goes around those that fail. */
const partTaker = (
  views: ViewWriter,
  documents: Folding,
  options: Pick<ProjectorOptions, 'onPoison' | 'limits'>,
): TakePart => {
  const { onPoison, limits = PART_LIMITS } = options;

  const foldAndWrite = async (entries: readonly Entry[], to: bigint): Promise<void> => {
    await views.write(await documents.fold(entries), to);
    documents.trim();
  };

  // An event that touches ten thousand documents is written in pieces, and the checkpoint passes it with the last.
  const takeWide = async (entry: Entry, to: bigint): Promise<void> => {
    const pieces = narrowed(entry, limits.documents);
    for (const [index, piece] of pieces.entries())
      await foldAndWrite([piece], index === pieces.length - 1 ? to : views.position());
  };

  const takePart = async (entries: readonly Entry[], to: bigint): Promise<void> => {
    try {
      const [first] = entries;
      if (first && first.width > limits.documents) await takeWide(first, to);
      else await foldAndWrite(entries, to);
    } catch (error) {
      documents.forget(); // what was folded and not written is not what the store has
      if (!(error instanceof PoisonEntry)) throw error;
      await takeAround(entries, error, to);
    }
  };

  const takeAround = async (entries: readonly Entry[], poison: PoisonEntry, to: bigint): Promise<void> => {
    const entry = entries[poison.index];
    if (!entry) throw poison;
    if (onPoison === 'stop') throw failed(entry, poison);
    const before = entries.slice(0, poison.index);
    const last = before.at(-1);
    if (last) await takePart(before, last.event.position);
    if (!views.isParked(entry.event)) await views.park(entry.event, poison.message);
    const rest = entries.slice(poison.index + 1).filter(({ event }) => !views.isParked(event));
    await takePart(rest, to);
  };

  return takePart;
};

/** Starts from the checkpoint that the store has, which must be of this log or none. */
export const projector = async (options: ProjectorOptions): Promise<Projector> => {
  const { readStore, logId, limits = PART_LIMITS } = options;
  const views = await viewWriter(readStore, logId, checkpointName(options));
  const read = eventReader(options);
  const takePart = partTaker(views, folding(readStore, options.cacheBytes ?? CACHE_BYTES), options);

  const take = async (events: readonly RecordedEvent[], to: bigint): Promise<void> => {
    let part = emptyPart(limits);
    for (const event of events) {
      const reading = views.isParked(event) ? undefined : read(event);
      const entry = reading instanceof Promise ? await reading : reading;
      if (!entry) continue;
      if (!part.hasRoomFor(entry)) {
        await takePart(part.entries, part.entries.at(-1)?.event.position ?? to);
        part = emptyPart(limits);
      }
      part.add(entry);
    }
    await takePart(part.entries, to);
  };

  const resume = async (stream: StreamName, pages: AsyncIterable<readonly RecordedEvent[]>): Promise<boolean> => {
    const since = views.parked().find((each) => each.stream === stream)?.position;
    if (since === undefined) return true;
    views.unpark(stream);
    const end = views.position();
    for await (const page of pages) {
      await take(
        page.filter(({ position }) => position >= since && position <= end),
        end,
      );
      if (views.parked().some((each) => each.stream === stream)) return false;
    }
    await views.resumed(stream);
    return true;
  };

  return { take, resume, position: () => views.position(), parked: () => views.parked() };
};
