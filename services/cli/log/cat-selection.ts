import type { EventFilter, EventLog, ReadLogOptions } from '../../kernel/ports/event-store.js';
import { metadataOfAny, ownTimeOf, type RecordedEvent } from '../../kernel/event.js';
import { categoryOf, isInProject, streamName, type StreamName } from '../../kernel/stream.js';

/** The flags of `log cat` that select events; an event is printed when it matches all of them. */
export type SelectionFlags = {
  readonly stream?: string;
  /** `PROJECT/DOMAIN/NAME`. */
  readonly execution?: string;
  readonly project?: string;
  readonly type?: readonly string[];
  /** In milliseconds since 1970. */
  readonly since?: number;
  readonly from?: bigint | 'end';
  /** Prints only this many of the selected events, the last ones. */
  readonly tail?: number;
};

/** The events to print, apart from the position where printing begins. */
export type Selection = {
  /** The one stream that is read. */
  readonly stream: StreamName | undefined;
  /** The filter that the log applies before events are decoded. */
  readonly filter: EventFilter;
  readonly matches: (event: RecordedEvent) => boolean;
};

const streamOf = ({ stream, execution }: SelectionFlags): StreamName | undefined =>
  execution === undefined ? (stream as StreamName | undefined) : streamName('execution', execution.split('/'));

const recordedAtMs = (event: RecordedEvent): number | undefined => metadataOfAny(event).recordedAtMs;

/** Makes the selection of the flags. */
export const selectionOf = (flags: SelectionFlags): Selection => {
  const stream = streamOf(flags);
  const { project, type: types, since } = flags;
  return {
    stream,
    filter: { ...(stream !== undefined && { categories: [categoryOf(stream)] }), ...(types && { types }) },
    matches: (event) =>
      (stream === undefined || event.stream === stream) &&
      (types?.includes(event.type) ?? true) &&
      (project === undefined || isInProject(event.stream, project)) &&
      (since === undefined || (recordedAtMs(event) ?? -Infinity) >= since),
  };
};

/**
 * The clocks of processes that write one log differ by less than this. So reading back can end at an event that was
 * recorded more than this before `since`: those before it were not recorded at `since` or later. Events of other
 * writers are not compared: their clocks are unknown.
 */
const CLOCK_SKEW_MS = 60_000;

/** Reads the log or the stream back from its end to an event before the first one to print; returns its position. */
const lookBack = async (
  log: EventLog,
  { stream, matches }: Selection,
  { given, since = -Infinity, tail = Infinity }: { given: bigint; since?: number; tail?: number },
): Promise<bigint> => {
  let left = tail;
  const isFound = (event: RecordedEvent): boolean =>
    left === 0 || event.position <= given || (ownTimeOf(event) ?? Infinity) < since - CLOCK_SKEW_MS;
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
 * Finds the position after which printing begins. For `since` and `tail` it reads the log, or the selected stream,
 * backwards from its end, only as far as needed.
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

/** The options of a read of the log that say where it begins. */
export type LogStart = Pick<ReadLogOptions, 'after' | 'isInclusive'>;

/**
 * Begins at the position of `--from` itself, included, where no other flag moved the beginning: an event store can
 * start a read directly only at the position of an event.
 */
export const startOf = ({ from }: SelectionFlags, after: bigint): LogStart =>
  typeof from === 'bigint' && after === from - 1n ? { after: from, isInclusive: true } : { after };
