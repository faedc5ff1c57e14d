import { create, toJson } from '@bufbuild/protobuf';
import { type TailRequest, TailRequestSchema } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { metadataOfAny, type RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { tailStartOf } from './begin.js';
import type { LiveFeed } from './live-feed.js';
import { type LabelsOf, logFilter, type Matches, tailFilter } from './selection.js';

/** Sources of all tails of a process. */
export type TailSources = {
  readonly log: Pick<EventLog, 'head' | 'readLog' | 'readLogBackwards'>;
  readonly feed: LiveFeed;
  readonly labelsOf: LabelsOf;
  readonly batches: SharedBatches;
  /**
   * Waits for a position that the log may not have reached.
   *
   * @throws {RpcError} UNAVAILABLE when the log still ends before the position after a while.
   */
  readonly reach: (position: bigint) => Promise<void>;
};

/** Encodes answers as they are sent. */
export type TailEncoding = {
  /** Differs from that of the other encodings. */
  readonly name: string;
  readonly event: (event: RecordedEvent) => Uint8Array | Promise<Uint8Array>;
  readonly checkpoint: (position: bigint) => Uint8Array;
};

/** The maximum of events that a tail which is behind the live feed reads from the log at a time. */
const PAGE = 256;
/** A tail that has sent nothing for this time, in milliseconds, sends a checkpoint. */
const CHECKPOINT_MS = 5_000;

type Page = { readonly events: readonly RecordedEvent[]; readonly position: bigint };

/** Reads the next page after a position: from the live feed, or from the log when the feed no longer has it. */
const nextPage = async ({ log, feed }: TailSources, after: bigint, request: TailRequest): Promise<Page> => {
  const live = feed.after(after);
  const reached = feed.position();
  if (live) return { events: live, position: live.at(-1)?.position ?? (reached > after ? reached : after) };
  const start = feed.start();
  for await (const page of log.readLog({ after, filter: logFilter(request), limit: PAGE })) return page;
  return { events: [], position: start }; // nothing up to the start of the feed is selected
};

const joined = (chunks: readonly Uint8Array[]): Uint8Array => {
  const all = new Uint8Array(chunks.reduce((bytes, { length }) => bytes + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
};

/** Selects and encodes events. Waits only where it must: this runs for each event and each selection. */
const encodedEvents = async (
  events: readonly RecordedEvent[],
  matches: Matches,
  encode: TailEncoding['event'],
): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  for (const event of events) {
    const isMatch = matches(event);
    if (isMatch === false || (isMatch !== true && !(await isMatch))) continue;
    const chunk = encode(event);
    chunks.push(chunk instanceof Uint8Array ? chunk : await chunk);
  }
  return joined(chunks);
};

/** The encoded batches of the live feed, by selection: tails that want the same share the bytes. */
type SharedBatches = (
  events: readonly RecordedEvent[],
  selection: string,
  encode: () => Promise<Uint8Array>,
) => Promise<Uint8Array>;

/** Makes an empty set of batches; a batch is forgotten with its events. */
export const sharedBatches = (): SharedBatches => {
  const known = new WeakMap<readonly RecordedEvent[], Map<string, Promise<Uint8Array>>>();
  return (events, selection, encode) => {
    const ofEvents = known.get(events) ?? new Map<string, Promise<Uint8Array>>();
    known.set(events, ofEvents);
    const found = ofEvents.get(selection);
    if (found) return found;
    const encoding = encode();
    ofEvents.set(selection, encoding);
    encoding.catch(() => ofEvents.delete(selection)); // the next tail tries again
    return encoding;
  };
};

/** Equal for two tails that get the same bytes for the same events. */
const selectionOf = (request: TailRequest, { name }: TailEncoding, sinceMs: number): string =>
  JSON.stringify([
    name,
    sinceMs,
    toJson(TailRequestSchema, create(TailRequestSchema, { ...request, from: '', lastEventId: '' })),
  ]);

/** The encoding of a consumer's answers; `isOver` is true when the consumer has left. */
export type TailConsumer = { readonly encoding: TailEncoding; readonly isOver: () => boolean };

/**
 * Follows the log for one consumer, without end, and yields its answers in batches. Nothing is read before the consumer
 * has taken the last batch, so that a slow consumer takes no memory: it falls behind the live feed and reads the log.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field of the request; UNAVAILABLE when the log ends before the
 * position that the request continues after.
 * @throws {Fault} when the log, or a payload of an event, cannot be read now.
 */
export async function* tailLog(
  sources: TailSources,
  request: TailRequest,
  { encoding, isOver }: TailConsumer,
): AsyncGenerator<Uint8Array> {
  const filter = tailFilter(request, sources.labelsOf);
  const { after, sinceMs } = await tailStartOf(request, sources.log);
  await sources.reach(after);
  const isSince = (event: RecordedEvent): boolean => (metadataOfAny(event).recordedAtMs ?? -Infinity) >= sinceMs;
  const matches: Matches = sinceMs === -Infinity ? filter : (event) => isSince(event) && filter(event);
  const selection = selectionOf(request, encoding, sinceMs);
  let position = after;
  let sentAt = performance.now() - CHECKPOINT_MS; // the first checkpoint says at once that the tail is there
  while (!isOver()) {
    const { events, position: reached } = await nextPage(sources, position, request);
    const answers = await sources.batches(events, selection, () => encodedEvents(events, matches, encoding.event));
    if (answers.length > 0) {
      yield answers;
      sentAt = performance.now();
    }
    const isIdle = events.length === 0 && reached === position;
    position = reached;
    if (performance.now() - sentAt >= CHECKPOINT_MS) {
      yield encoding.checkpoint(position);
      sentAt = performance.now();
    }
    if (isIdle) await sources.feed.moved(position, Math.max(0, CHECKPOINT_MS - (performance.now() - sentAt)));
  }
}
