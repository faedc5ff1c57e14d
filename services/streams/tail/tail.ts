import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';

import {
  type TailEvent,
  TailEventSchema,
  type TailRequest,
  TailRequest_Format as Format,
  type TailResponse,
  TailResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { tailStartOf } from './begin.js';
import type { LiveFeed } from './live-feed.js';
import { type LabelsOf, logFilter, tailFilter } from './selection.js';

/** Encodes events for consumers. */
export interface TailPresenting {
  /** The event as one line of JSON. */
  json(event: RecordedEvent): Promise<string>;
  /** The event's message in protobuf, whole. */
  message(event: RecordedEvent): Promise<Uint8Array>;
  idText(id: Uint8Array): string;
}

/** Sources of all tails of a process. */
export type TailSources = {
  readonly log: Pick<EventLog, 'head' | 'readLog' | 'readLogBackwards'>;
  readonly feed: LiveFeed;
  readonly labelsOf: LabelsOf;
  readonly present: TailPresenting;
};

/** The number of events that are read from the log at a time by a tail that is behind the live feed. */
const PAGE = 256;
/** The longest silence of a tail, in milliseconds. */
const CHECKPOINT_MS = 5_000;

type Page = { readonly events: readonly RecordedEvent[]; readonly position: bigint };

/** The next page after a position: from the live feed, or from the log where the feed has it no more. */
const nextPage = async ({ log, feed }: TailSources, after: bigint, request: TailRequest): Promise<Page> => {
  const live = feed.after(after);
  const reached = feed.position();
  if (live) return { events: live, position: live.at(-1)?.position ?? (reached > after ? reached : after) };
  const start = feed.start();
  for await (const page of log.readLog({ after, filter: logFilter(request), limit: PAGE })) return page;
  return { events: [], position: start };
};

const eventOf = async (event: RecordedEvent, { present }: TailSources, format: Format): Promise<TailEvent> => {
  const { recordedAtMs, actor, $correlationId } = metadataOf(event);
  const data =
    format === Format.PROTOBUF
      ? ({ case: 'message', value: await present.message(event) } as const)
      : ({ case: 'json', value: await present.json(event) } as const);
  return create(TailEventSchema, {
    stream: event.stream,
    revision: event.revision,
    type: event.type,
    id: present.idText(event.id),
    recordedAt: timestampFromMs(recordedAtMs),
    actor,
    requestId: $correlationId ?? '',
    data,
  });
};

type Answering = {
  readonly isWanted: (event: RecordedEvent) => Promise<boolean>;
  readonly encode: (event: RecordedEvent) => Promise<TailEvent>;
};

/** Selects and encodes the events of a page. */
const answersOf = async function* ({ events }: Page, { isWanted, encode }: Answering): AsyncGenerator<TailResponse> {
  for (const event of events)
    if (await isWanted(event))
      yield create(TailResponseSchema, { position: event.position, event: await encode(event) });
};

/** `isOver` is true when the consumer has left; `onWait` is called when all answers of a page were given out. */
export type TailEnds = { readonly isOver: () => boolean; readonly onWait: () => Promise<void> };

/**
 * Follows the log for one consumer, without end. Nothing is read before the consumer has taken what was sent, so that a
 * slow consumer takes no memory: it falls behind the live feed and reads the log.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field of the request.
 * @throws {Fault} when the log cannot be read, or an event cannot be encoded.
 */
export async function* tail(
  sources: TailSources,
  request: TailRequest,
  { isOver, onWait }: TailEnds,
): AsyncGenerator<TailResponse> {
  const matches = tailFilter(request, sources.labelsOf);
  const { after, sinceMs } = await tailStartOf(request, sources.log);
  const isWanted = async (event: RecordedEvent): Promise<boolean> =>
    metadataOf(event).recordedAtMs >= sinceMs && (await matches(event));
  const encode = (event: RecordedEvent): Promise<TailEvent> => eventOf(event, sources, request.format);
  let position = after;
  let sentAt = performance.now() - CHECKPOINT_MS; // the first checkpoint says at once that the tail is there
  while (!isOver()) {
    const page = await nextPage(sources, position, request);
    for await (const each of answersOf(page, { isWanted, encode })) {
      yield each;
      sentAt = performance.now();
    }
    const isIdle = page.events.length === 0 && page.position === position;
    position = page.position;
    if (performance.now() - sentAt >= CHECKPOINT_MS) {
      yield create(TailResponseSchema, { position });
      sentAt = performance.now();
    }
    await onWait();
    if (isIdle) await sources.feed.moved(position, CHECKPOINT_MS);
  }
}
