import type { EventLog } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';

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
  of(stream: string): StreamRules;
  /** Applies a recorded event; only metadata events and tombstones change rules. */
  take(event: RuleEvent): void;
}

/** The fields of an event that rules are made from. */
export type RuleEvent = Pick<RecordedEvent, 'stream' | 'type' | 'data'>;

/** The type of the last event of a stream that was deleted permanently. */
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

const wholeIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

const rulesIn = (data: Uint8Array): Partial<StreamRules> => {
  try {
    const metadata = JSON.parse(Buffer.from(data).toString()) as Partial<Record<string, unknown>>;
    const maxAgeS = wholeIn(metadata['$maxAge']);
    return {
      truncateBefore: BigInt(wholeIn(metadata['$tb']) ?? 0),
      maxCount: wholeIn(metadata['$maxCount']),
      maxAgeMs: maxAgeS === undefined ? undefined : maxAgeS * 1_000,
    };
  } catch {
    return {}; // not stream metadata in the format of EventStoreDB
  }
};

/** No rules, for a log in which all events are visible. */
export const noStreamRules: StreamRulesTable = { of: () => NO_RULES, take: () => undefined };

/**
 * Reads the rules of all streams of a log from its few metadata events and tombstones, which are read by type.
 *
 * @param isRuled says which streams may have rules; by default all.
 */
export const openStreamRules = async (
  log: EventLog,
  isRuled = (_stream: string): boolean => true,
): Promise<StreamRulesTable> => {
  const rules = new Map<string, StreamRules>();
  const of = (stream: string): StreamRules => rules.get(stream) ?? NO_RULES;
  const take = ({ stream, type, data }: RuleEvent): void => {
    if (type === TOMBSTONE && isRuled(stream)) rules.set(stream, { ...of(stream), isTombstoned: true });
    if (type !== STREAM_METADATA || !stream.startsWith(METADATA_PREFIX)) return;
    const ruled = stream.slice(METADATA_PREFIX.length);
    if (isRuled(ruled)) rules.set(ruled, { ...NO_RULES, isTombstoned: of(ruled).isTombstoned, ...rulesIn(data) });
  };
  for await (const { events } of log.readLog({ after: 0n, filter: { types: [STREAM_METADATA, TOMBSTONE] } }))
    events.forEach(take);
  return { of, take };
};
