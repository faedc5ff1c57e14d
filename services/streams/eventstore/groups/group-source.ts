import { createHash } from 'node:crypto';
import type { RecordedEvent } from '../../../kernel/event.js';
import type { EventLog } from '../../../kernel/ports/event-store.js';
import { categoryOf, type StreamName } from '../../../kernel/stream.js';
import { eventMatch } from '../read/filter.js';
import { firstVisible, isYoung, lastRevision, type ReadServices } from '../read/read.js';
import { metadataStreamOf, type StreamRules } from '../stream-rules.js';
import { createYieldTurn } from '../read/turns.js';
import type { ConfiguredGroup, GroupFilter } from './configuration.js';
import { BUCKETS } from './delivery/consumer-pool.js';
import type { ReadEvent } from './delivery/delivery.js';
import { ALL, CONFIGURATION_STREAM, GROUP_CATEGORY } from './group-name.js';

/** Events of a source, and the position up to which it was read. */
export type SourcePage = {
  readonly events: readonly RecordedEvent[];
  readonly upTo: bigint;
  /** True when the source had no more events. */
  readonly isAtEnd: boolean;
};

/** The source of a group: one stream, whose positions are its revisions, or the whole log. */
export interface GroupSource {
  /** The position of an event in this source. */
  placeOf(event: RecordedEvent): bigint;
  /** The position of the last event, whether the filter matches it or not; `undefined` when there is none. */
  last(): Promise<bigint | undefined>;
  /** Reads the events after a position: at most `count`, and fewer when they are large or few of the log match. */
  read(after: bigint, count: number): Promise<SourcePage>;
  /** Reads the event at a position, also one that is too old by now; `undefined` when it is hidden or absent. */
  at(place: bigint): Promise<RecordedEvent | undefined>;
  /** True when the event is in the source, whether the filter matches it or not. */
  has(event: Pick<RecordedEvent, 'stream' | 'type'>): boolean;
  /** The bucket in which `Pinned` puts the event: events of one stream are together. */
  bucketOf(event: Pick<RecordedEvent, 'stream'>): number;
}

/** A page ends with the event by which its events reach this size, in bytes. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** A page ends after this number of events, whether they are among those of the source or not. */
const PAGE_SCANNED = 20_000;

const bucketOf = ({ stream }: Pick<RecordedEvent, 'stream'>): number =>
  createHash('sha1').update(stream).digest().readUInt16BE(0) % BUCKETS;

/** The approximate size of an event, in bytes. */
const sizeOf = ({ data, metadata }: RecordedEvent): number => data.length + metadata.length;

/** Collects the events of a page until it is full. */
const collecting = (count: number) => {
  const events: RecordedEvent[] = [];
  let bytes = 0;
  return {
    events,
    add: (event: RecordedEvent): void => {
      events.push(event);
      bytes += sizeOf(event);
    },
    isFull: (): boolean => events.length >= count || bytes >= PAGE_BYTES,
  };
};

const firstOf = async (pages: AsyncIterable<readonly RecordedEvent[]>): Promise<RecordedEvent | undefined> => {
  for await (const [event] of pages) return event;
  return undefined;
};

const streamSource = ({ log, rules, now }: ReadServices, stream: StreamName): GroupSource => {
  const last = () => lastRevision(log, stream);
  const shownFrom = async (ruled: StreamRules): Promise<bigint> => {
    if (ruled.maxCount === undefined) return ruled.truncateBefore;
    return firstVisible(ruled, (await last()) ?? -1n);
  };
  return {
    last,
    placeOf: ({ revision }) => revision,
    has: (event) => event.stream === stream,
    bucketOf,
    at: async (place) => {
      const ruled = await rules.of(stream);
      if (ruled.isTombstoned || place < (await shownFrom(ruled))) return undefined;
      return firstOf(log.readStream(stream, { from: place, limit: 1 }));
    },
    read: async (after, count) => {
      const page = collecting(count);
      const ruled = await rules.of(stream);
      if (ruled.isTombstoned) return { events: [], upTo: after, isAtEnd: true };
      const shown = await shownFrom(ruled);
      const from = after + 1n > shown ? after + 1n : shown;
      const limit = ruled.maxAgeMs === undefined ? count : Infinity; // events that are too old are not counted
      let upTo = after;
      let scanned = 0;
      for await (const events of log.readStream(stream, { from, limit }))
        for (const event of events) {
          if (isYoung(ruled, event, now())) page.add(event);
          upTo = event.revision;
          scanned += 1;
          if (page.isFull() || scanned >= PAGE_SCANNED) return { events: page.events, upTo, isAtEnd: false };
        }
      return { events: page.events, upTo, isAtEnd: true };
    },
  };
};

const BOOKKEEPING: ReadonlySet<string> = new Set([
  GROUP_CATEGORY,
  metadataStreamOf(GROUP_CATEGORY),
  CONFIGURATION_STREAM,
]);

const logSource = (log: EventLog, filter: GroupFilter | undefined): GroupSource => {
  const matches = filter ? eventMatch(filter.on, { regex: filter.regex, prefix: [...filter.prefixes] }) : () => true;
  // Events that groups record are left out: each of them would cause another one.
  const has = ({ stream }: Pick<RecordedEvent, 'stream'>): boolean => !BOOKKEEPING.has(categoryOf(stream));
  return {
    has,
    bucketOf,
    last: async () => {
      const head = await log.head();
      return head === 0n ? undefined : head;
    },
    placeOf: ({ position }) => position,
    at: async (place) => {
      for await (const { events } of log.readLog({ after: place, isInclusive: true, limit: 1 }))
        return events.find(({ position }) => position === place);
      return undefined;
    },
    read: async (after, count) => {
      const page = collecting(count);
      const turn = createYieldTurn();
      let upTo = after;
      let scanned = 0;
      for await (const { events, position } of log.readLog({ after })) {
        for (const event of events) {
          await turn();
          upTo = event.position;
          scanned += 1;
          if (has(event) && matches(event)) page.add(event);
          if (page.isFull() || scanned >= PAGE_SCANNED) return { events: page.events, upTo, isAtEnd: false };
        }
        if (position > upTo) upTo = position;
      }
      return { events: page.events, upTo, isAtEnd: true };
    },
  };
};

/** An event of a source, for the group to deliver. */
export const eventToDeliver = (source: GroupSource, event: RecordedEvent): ReadEvent<RecordedEvent> => ({
  at: source.placeOf(event),
  bucket: source.bucketOf(event),
  bytes: sizeOf(event),
  content: event,
});

/** Opens the source of a group. */
export const groupSource = (
  reading: ReadServices,
  { source, filter }: Pick<ConfiguredGroup, 'source' | 'filter'>,
): GroupSource => (source === ALL ? logSource(reading.log, filter) : streamSource(reading, source as StreamName));
