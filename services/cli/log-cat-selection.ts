import type { EventFilter, EventLog, ReadLogOptions } from '../kernel/ports/event-store.js';
import { metadataOf, type RecordedEvent } from '../kernel/event.js';
import { categoryOf, isInScope, streamName, type StreamName } from '../kernel/stream.js';

/** The flags of `log cat` that say which events are printed; an event is printed when it meets all of them. */
export type SelectionFlags = {
  readonly stream?: string;
  /** `PROJECT/DOMAIN/NAME`. */
  readonly execution?: string;
  readonly project?: string;
  readonly type?: readonly string[];
  /** In milliseconds since 1970. */
  readonly since?: number;
  readonly from?: bigint | 'end';
  /** Only so many of them, the last. */
  readonly tail?: number;
};

/** Which events are printed, wherever printing begins. */
export type Selection = {
  /** The one stream that is read. */
  readonly stream: StreamName | undefined;
  /** What the log leaves out before its events are decoded. */
  readonly filter: EventFilter;
  readonly matches: (event: RecordedEvent) => boolean;
};

const streamOf = ({ stream, execution }: SelectionFlags): StreamName | undefined =>
  execution === undefined ? (stream as StreamName | undefined) : streamName('execution', execution.split('/'));

const recordedAtMs = (event: RecordedEvent): number => metadataOf(event).recordedAtMs;

/** Reads the flags. */
export const selectionOf = (flags: SelectionFlags): Selection => {
  const stream = streamOf(flags);
  const { project, type: types, since } = flags;
  return {
    stream,
    filter: { ...(stream !== undefined && { categories: [categoryOf(stream)] }), ...(types && { types }) },
    matches: (event) =>
      (stream === undefined || event.stream === stream) &&
      (types?.includes(event.type) ?? true) &&
      (project === undefined || isInScope(event.stream, project)) &&
      (since === undefined || recordedAtMs(event) >= since),
  };
};

/** Clocks of processes that write one log differ by less: an event before this is followed by none of the time sought. */
const CLOCK_SKEW_MS = 60_000;

/** Looks back from the end of the log for the event that stands before the first one that is sought. */
const lookBack = async (
  log: EventLog,
  { stream, matches }: Selection,
  { given, since = -Infinity, tail = Infinity }: { given: bigint; since?: number; tail?: number },
): Promise<bigint> => {
  let left = tail;
  const isFound = (event: RecordedEvent): boolean =>
    left === 0 || event.position <= given || recordedAtMs(event) < since - CLOCK_SKEW_MS;
  const pages = stream === undefined ? log.readLogBackwards() : log.readStream(stream, { direction: 'backwards' });
  for await (const page of pages) {
    for (const event of page) {
      if (isFound(event)) return event.position;
      if (matches(event)) left -= 1;
    }
  }
  return given;
};

/**
 * The position after which printing begins. The log is looked at from its end, as far as a time or a number of last
 * events asks for.
 */
export const beginAfter = async (
  log: EventLog,
  selection: Selection,
  { from = 0n, since, tail }: SelectionFlags,
): Promise<bigint> => {
  if (from === 'end') return log.head();
  const given = from === 0n ? 0n : from - 1n;
  if (since === undefined && tail === undefined) return given;
  return lookBack(log, selection, {
    given,
    ...(since !== undefined && { since }),
    ...(tail !== undefined && { tail }),
  });
};

/** Where a log is read from. */
export type LogStart = Pick<ReadLogOptions, 'after' | 'isInclusive'>;

/** Begins at the position that was asked for where nothing else says where: an event store reads at once from an event. */
export const startOf = ({ from }: SelectionFlags, after: bigint): LogStart =>
  typeof from === 'bigint' && after === from - 1n ? { after: from, isInclusive: true } : { after };
