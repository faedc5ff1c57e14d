import type { EventLog } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { lru, type Lru } from '../../kernel/lru.js';
import type { StreamName } from '../../kernel/stream.js';

/** The rules for which events of a stream are visible. */
export type StreamRules = {
  /** The stream was deleted permanently: it can neither be read nor written. */
  readonly isTombstoned: boolean;
  /** Events below this revision are hidden. */
  readonly truncateBefore: bigint;
  readonly maxCount: number | undefined;
  readonly maxAgeMs: number | undefined;
};

/** The rules of all streams. */
export interface StreamRulesTable {
  /** Rules that are not in memory are read from the log. */
  of(stream: string): StreamRules | Promise<StreamRules>;
  /** Applies an event that is recorded; only metadata events and tombstones change rules. */
  apply(event: RuleEvent): void;
}

/** The fields of an event that rules are made from. */
export type RuleEvent = Pick<RecordedEvent, 'stream' | 'type' | 'data'>;

/** The type of the event by which a stream is deleted permanently. */
export const TOMBSTONE = '$streamDeleted';

/** The type of the events of a stream's metadata stream. */
export const STREAM_METADATA = '$metadata';

const METADATA_PREFIX = '$$';

/** The name of the stream with the metadata, and so the rules, of another stream. */
export const metadataStreamOf = (stream: string): string => `${METADATA_PREFIX}${stream}`;

const NO_RULES: StreamRules = {
  isTombstoned: false,
  truncateBefore: 0n,
  maxCount: undefined,
  maxAgeMs: undefined,
};

/** The `$tb` by which EventStoreDB marks a stream as deleted; an append replaces it, so that its events are visible. */
const DELETED = 2n ** 63n - 1n;

/** True for a stream that EventStoreDB has deleted, and to which nothing was appended since. */
export const isMarkedDeleted = ({ truncateBefore }: Pick<StreamRules, 'truncateBefore'>): boolean =>
  truncateBefore >= DELETED;

/** A number in JSON loses digits above 2^53, which is above every revision; {@link DELETED} becomes 2^63. */
const revisionIn = (value: unknown): bigint =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? BigInt(value) : 0n;

/** True for metadata that marks its stream as EventStoreDB does when it deletes one. */
export const marksDeleted = (metadata: { readonly $tb?: unknown }): boolean =>
  isMarkedDeleted({ truncateBefore: revisionIn(metadata.$tb) });

/** As in EventStoreDB, a `$maxCount` or `$maxAge` of 0 or less is no rule. */
const limitIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;

/** The fields of stream metadata; `undefined` for data in another format than that of EventStoreDB. */
const fieldsIn = (data: Uint8Array): Partial<Record<string, unknown>> | undefined => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(data).toString());
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
};

const rulesIn = (data: Uint8Array): Partial<StreamRules> => {
  const metadata = fieldsIn(data);
  if (metadata === undefined) return {};
  const maxAgeS = limitIn(metadata['$maxAge']);
  return {
    truncateBefore: revisionIn(metadata['$tb']),
    maxCount: limitIn(metadata['$maxCount']),
    maxAgeMs: maxAgeS === undefined ? undefined : maxAgeS * 1_000,
  };
};

/**
 * The rules of a metadata stream. As in EventStoreDB, only its last event is visible, whatever its own metadata says,
 * and it is deleted permanently by itself or together with its stream.
 */
const rulesOfMetadata = (ofMetadata: StreamRules, ofStream: StreamRules): StreamRules => ({
  ...NO_RULES,
  isTombstoned: ofMetadata.isTombstoned || ofStream.isTombstoned,
  maxCount: 1,
});

/** No rules, for a log in which all events are visible. */
export const noStreamRules: StreamRulesTable = { of: () => NO_RULES, apply: () => undefined };

/** Options of {@link openStreamRules}. */
export type StreamRulesOptions = {
  /** True for a stream that may have rules; by default for every stream. */
  readonly isRuled?: (stream: string) => boolean;
  /** Maximum total size, in bytes, of the rules that are kept in memory. */
  readonly maxBytes?: number;
};

const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;

/**
 * The number of events at the end of a stream among which its tombstone is looked for. The tombstone is the last
 * event, except where appends were in flight with it.
 */
const MAX_AFTER_TOMBSTONE = 4_096;

/** A stream with a name of 43 characters was measured to take 264 bytes of heap. */
const bytesOf = (stream: string): number => 200 + 2 * stream.length;

const lastOfType = async (log: EventLog, stream: string, type: string, limit?: number) => {
  const options = { direction: 'backwards', ...(limit !== undefined && { limit }) } as const;
  for await (const page of log.readStream(stream as StreamName, options)) {
    const event = page.find((each) => each.type === type);
    if (event !== undefined) return event;
  }
  return undefined;
};

/** Reads the last metadata of a stream; without fields when there is none, or not in EventStoreDB's format. */
export const readMetadata = async (log: EventLog, stream: string): Promise<object> => {
  const metadata = await lastOfType(log, metadataStreamOf(stream), STREAM_METADATA);
  return (metadata && fieldsIn(metadata.data)) ?? {};
};

/** Reads the rules of one stream from its metadata stream and its end. */
const readRules = async (log: EventLog, stream: string): Promise<StreamRules> => {
  const metadata = await lastOfType(log, metadataStreamOf(stream), STREAM_METADATA);
  const tombstone = await lastOfType(log, stream, TOMBSTONE, MAX_AFTER_TOMBSTONE);
  return { ...NO_RULES, ...(metadata && rulesIn(metadata.data)), isTombstoned: tombstone !== undefined };
};

/** The stream whose rules an event changes; `undefined` for other events. */
const ruledBy = ({ stream, type }: RuleEvent): string | undefined => {
  if (type === TOMBSTONE) return stream;
  const isMetadata = type === STREAM_METADATA && stream.startsWith(METADATA_PREFIX);
  return isMetadata ? stream.slice(METADATA_PREFIX.length) : undefined;
};

const changed = (rules: StreamRules, { type, data }: RuleEvent): StreamRules =>
  type === TOMBSTONE
    ? { ...rules, isTombstoned: true }
    : { ...NO_RULES, isTombstoned: rules.isTombstoned, ...rulesIn(data) };

/** Keeps rules in bounded memory. While all of them fit, nothing is read; later, those that are not kept are. */
class KeptRules implements StreamRulesTable {
  readonly #log: EventLog;
  readonly #isRuled: (stream: string) => boolean;
  readonly #maxBytes: number;
  readonly #kept: Lru<string, StreamRules>;
  readonly #reads = new Map<string, Promise<StreamRules>>();
  /** All rules of the log are kept: a stream that is not among them has none. */
  #isWhole = true;

  constructor(log: EventLog, { isRuled = () => true, maxBytes = DEFAULT_MAX_BYTES }: StreamRulesOptions) {
    this.#log = log;
    this.#isRuled = isRuled;
    this.#maxBytes = maxBytes;
    this.#kept = lru(maxBytes);
  }

  of(stream: string): StreamRules | Promise<StreamRules> {
    if (!this.#isRuled(stream)) return NO_RULES;
    const rules = this.#known(stream) ?? this.#reads.get(stream) ?? this.#read(stream);
    if (!stream.startsWith(METADATA_PREFIX)) return rules;
    const ofStream = this.of(stream.slice(METADATA_PREFIX.length));
    return rules instanceof Promise || ofStream instanceof Promise
      ? Promise.all([rules, ofStream]).then(([one, other]) => rulesOfMetadata(one, other))
      : rulesOfMetadata(rules, ofStream);
  }

  apply(event: RuleEvent): void {
    const stream = ruledBy(event);
    if (stream === undefined || !this.#isRuled(stream)) return;
    this.#reads.delete(stream); // a read in flight may have missed the event
    const known = this.#known(stream);
    if (known !== undefined) this.#keep(stream, changed(known, event));
  }

  #known(stream: string): StreamRules | undefined {
    return this.#kept.get(stream) ?? (this.#isWhole ? NO_RULES : undefined);
  }

  #keep(stream: string, rules: StreamRules): void {
    const bytes = bytesOf(stream);
    if (this.#kept.size() + bytes > this.#maxBytes) this.#isWhole = false;
    this.#kept.set(stream, rules, bytes);
  }

  async #read(stream: string): Promise<StreamRules> {
    const read = readRules(this.#log, stream);
    this.#reads.set(stream, read);
    try {
      const rules = await read;
      if (this.#reads.get(stream) === read) this.#keep(stream, rules);
      return rules;
    } finally {
      if (this.#reads.get(stream) === read) this.#reads.delete(stream);
    }
  }
}

/** Reads the rules of all streams of a log from its metadata events and tombstones, which are read by type. */
export const openStreamRules = async (log: EventLog, options: StreamRulesOptions = {}): Promise<StreamRulesTable> => {
  const rules = new KeptRules(log, options);
  for await (const { events } of log.readLog({ after: 0n, filter: { types: [STREAM_METADATA, TOMBSTONE] } }))
    for (const event of events) rules.apply(event);
  return rules;
};
