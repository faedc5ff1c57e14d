import type { EventLog } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';

/** What a stream shows of its events. */
export type StreamRules = {
  /** Deleted for good: it can neither be read nor written. */
  readonly isTombstoned: boolean;
  /** Events below this revision are not shown. */
  readonly truncateBefore: bigint;
  readonly maxCount: number | undefined;
  readonly maxAgeMs: number | undefined;
};

/** The rules of every stream that has some. */
export interface RuleBook {
  of(stream: string): StreamRules;
  /** Takes in an event that was recorded; all but those that make rules change nothing. */
  take(event: RuleEvent): void;
}

/** As much of an event as makes a rule. */
export type RuleEvent = Pick<RecordedEvent, 'stream' | 'type' | 'data'>;

/** The type of the last event of a stream that was deleted for good. */
export const TOMBSTONE = '$streamDeleted';

/** The type of the events of a stream's metadata stream. */
export const STREAM_METADATA = '$metadata';

const METADATA_PREFIX = '$$';

/** The stream that says what another shows. */
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
    const said = JSON.parse(Buffer.from(data).toString()) as Partial<Record<string, unknown>>;
    const maxAgeS = wholeIn(said['$maxAge']);
    return {
      truncateBefore: BigInt(wholeIn(said['$tb']) ?? 0),
      maxCount: wholeIn(said['$maxCount']),
      maxAgeMs: maxAgeS === undefined ? undefined : maxAgeS * 1_000,
    };
  } catch {
    return {}; // whoever wrote it meant something else
  }
};

/** A book without rules, for a log whose streams show everything. */
export const noRules: RuleBook = { of: () => NO_RULES, take: () => undefined };

/** Folds the rules out of a log; they are few, and found without a walk over it. */
export const openRuleBook = async (log: EventLog): Promise<RuleBook> => {
  const rules = new Map<string, StreamRules>();
  const of = (stream: string): StreamRules => rules.get(stream) ?? NO_RULES;
  const take = ({ stream, type, data }: RuleEvent): void => {
    if (type === TOMBSTONE) rules.set(stream, { ...of(stream), isTombstoned: true });
    if (type !== STREAM_METADATA || !stream.startsWith(METADATA_PREFIX)) return;
    const ruled = stream.slice(METADATA_PREFIX.length);
    rules.set(ruled, { ...NO_RULES, isTombstoned: of(ruled).isTombstoned, ...rulesIn(data) });
  };
  for await (const { events } of log.readLog({ after: 0n, filter: { types: [STREAM_METADATA, TOMBSTONE] } }))
    events.forEach(take);
  return { of, take };
};
