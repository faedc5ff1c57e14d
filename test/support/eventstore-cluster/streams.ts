import type { LogFile, Proposed } from './log-file.js';

/** The size limit of one append in bytes, as the server counts it: the data alone. */
export const MAX_APPEND_BYTES = 1_048_576;

/** The type of the event that deletes its stream permanently. */
export const TOMBSTONE = '$streamDeleted';
/** The type of the events in the metadata stream of a stream, `$$NAME`. */
export const STREAM_METADATA = '$metadata';

/** The revision that a writer expects a stream to have. */
export type Expected = 'any' | 'no-stream' | 'stream-exists' | bigint;

/** Events to append to a stream, all or none. */
export type Append = { readonly stream: string; readonly expected: Expected; readonly events: readonly Proposed[] };

/**
 * The outcome of an append. `revision` is the last revision of the stream after the append, and `current` that before
 * it; `undefined` is a stream without events. `position` is that of the last event, or of the hidden record that an
 * append without events writes. `port` is that of the leader.
 */
export type Outcome =
  | { readonly kind: 'written'; readonly revision: bigint | undefined; readonly position: bigint }
  | { readonly kind: 'wrong-version'; readonly current: bigint | undefined }
  | { readonly kind: 'deleted' | 'timeout' | 'not-ready' }
  | { readonly kind: 'not-leader'; readonly port: number };

/** The first revision that readers may see, and the number of the newest events that they see at most. */
type Rules = { readonly truncateBefore: bigint; readonly maxCount: bigint | undefined };

const NO_RULES: Rules = { truncateBefore: 0n, maxCount: undefined };

/** The rules in the metadata of a stream, by which readers do not see its oldest events. */
const rulesOf = (log: LogFile, stream: string, below: bigint): Rules => {
  const metadata = `$$${stream}`;
  const last = stream.startsWith('$$') ? undefined : log.lastRevision(metadata, below);
  if (last === undefined) return NO_RULES;
  const [event] = log.readStream(metadata, { first: last, last, below, limit: 1, isBackwards: false });
  const { $tb, $maxCount } = JSON.parse(event?.data.toString() ?? '{}') as { $tb?: number; $maxCount?: number };
  return { truncateBefore: BigInt($tb ?? 0), maxCount: $maxCount === undefined ? undefined : BigInt($maxCount) };
};

/** The revisions of a stream that readers see, from `first` to `last`, unless it is missing or deleted. */
export type Visible = 'missing' | 'deleted' | { readonly first: bigint; readonly last: bigint };

/** Finds the visible revisions among the events before the position `below`. */
export const visibleOf = (log: LogFile, stream: string, below: bigint): Visible => {
  const last = log.lastRevision(stream, below);
  if (last === undefined) return 'missing';
  const [event] = log.readStream(stream, { first: last, last, below, limit: 1, isBackwards: false });
  if (event?.type === TOMBSTONE) return 'deleted';
  const { truncateBefore, maxCount } = rulesOf(log, stream, below);
  if (truncateBefore > last) return 'missing';
  const kept = maxCount === undefined ? 0n : last - maxCount + 1n;
  return { first: kept > truncateBefore ? kept : truncateBefore, last };
};

/** A position after all events. */
const END = 2n ** 62n;

/**
 * Finds the events of an append in the stream: the outcome of their write when all are there, `torn` when the first is
 * there and another is not, and `undefined` when the first is not.
 */
const alreadyWritten = (log: LogFile, { stream, events }: Append): Outcome | 'torn' | undefined => {
  const found = events.map(({ id }) => log.find(stream, id).at(-1));
  if (found[0] === undefined) return undefined;
  const last = found.at(-1);
  if (last === undefined || found.includes(undefined)) return 'torn';
  return { kind: 'written', ...last };
};

/** The earlier outcome, when these events follow the expected revision. */
const repeated = (log: LogFile, { stream, events }: Append, after: bigint): Outcome | undefined => {
  const found = events.map(({ id }, index) =>
    log.find(stream, id).find(({ revision }) => revision === after + 1n + BigInt(index)),
  );
  const last = found.at(-1);
  return last === undefined || found.includes(undefined) ? undefined : { kind: 'written', ...last };
};

/** The expected last revision; -1 for no events. */
const expectedLast = (expected: 'no-stream' | bigint): bigint => (expected === 'no-stream' ? -1n : expected);

/** The refusal of an append, or its earlier outcome; `undefined` when it is to be written. */
const checked = (log: LogFile, append: Append, current: bigint | undefined): Outcome | undefined => {
  const { expected } = append;
  const wrong: Outcome = { kind: 'wrong-version', current };
  if (expected === 'stream-exists' && current === undefined) return wrong;
  if (expected === 'any' || expected === 'stream-exists') {
    const before = alreadyWritten(log, append);
    return before === 'torn' ? wrong : before;
  }
  const [after, last] = [expectedLast(expected), current ?? -1n];
  if (after === last) return undefined;
  return after < last ? (repeated(log, append, after) ?? wrong) : wrong;
};

/** Decides an append and writes it; must be called within a transaction of the leader. */
export const decideAppend = (log: LogFile, append: Append): Outcome => {
  const { stream, events } = append;
  const visible = visibleOf(log, stream, END);
  if (visible === 'deleted') return { kind: 'deleted' };
  const last = log.lastRevision(stream, END);
  const found = checked(log, append, visible === 'missing' ? undefined : last);
  if (found !== undefined) return found;
  if (events.length === 0)
    return {
      kind: 'written',
      revision: visible === 'missing' ? undefined : last,
      position: log.writeHidden(Date.now()),
    };
  const position = log.write(stream, last ?? -1n, events, Date.now());
  return { kind: 'written', revision: (last ?? -1n) + BigInt(events.length), position };
};
