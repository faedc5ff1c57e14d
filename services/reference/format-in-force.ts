import type { EventLog } from '../kernel/ports/event-store.js';
import { type RecordedEvent, schemaOf } from '../kernel/event.js';
import { Fault } from '../kernel/fault.js';
import { LOG_CATEGORY, LOG_FORMAT_STREAM, logFormatCodec } from '../log-format/events.js';
import { evolveLogFormat, initialLogFormat } from '../log-format/state.js';

/** The format that a log is written in, followed as it changes. */
export type FormatInForce = {
  /** Infinite where a newer release has recorded what this one cannot read. */
  readonly format: () => number;
  /** Reads it again: what was recorded before the call is in force after it. */
  readonly refresh: () => Promise<void>;
  /** Rejects when the log cannot be followed any further. */
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
};

const formatIn = (event: RecordedEvent): number => {
  try {
    const decoded = logFormatCodec.decode(event.type, event.data, schemaOf(event));
    return evolveLogFormat(initialLogFormat(), decoded).format;
  } catch (error) {
    if (error instanceof Fault) return Number.POSITIVE_INFINITY;
    throw error;
  }
};

/** The format of a log as it is now. */
export const formatOf = async (log: Pick<EventLog, 'readStream'>): Promise<number> => {
  const last = { direction: 'backwards', limit: 1 } as const;
  for await (const [event] of log.readStream(LOG_FORMAT_STREAM, last)) if (event) return formatIn(event);
  return initialLogFormat().format;
};

/** Reads the format of a log, and follows it. */
export const followFormat = async (log: EventLog): Promise<FormatInForce> => {
  const head = await log.head(); // before the read: what is recorded between the two is followed
  let current = await formatOf(log);
  const advance = (format: number): void => {
    current = Math.max(current, format);
  };
  const filter = { categories: [LOG_CATEGORY] };
  const subscription = log.subscribe({ after: head, filter }, ({ events }) => {
    for (const event of events) if (event.stream === LOG_FORMAT_STREAM) advance(formatIn(event));
  });
  return {
    format: () => current,
    refresh: async () => advance(await formatOf(log)),
    ended: subscription.ended,
    close: () => subscription.close(),
  };
};
