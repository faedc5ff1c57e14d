import type { EventLog } from '../kernel/ports/event-store.js';
import { type RecordedEvent, schemaOf } from '../kernel/event.js';
import { Fault } from '../kernel/fault.js';
import { LOG_CATEGORY, LOG_FORMAT_STREAM, logFormatCodec } from '../log-format/events.js';
import { evolveLogFormat, initialLogFormat } from '../log-format/state.js';

/** The format that a log is written in, kept current by a subscription. */
export type FormatInForce = {
  /** The current format; infinite when this release cannot read an event that records one. */
  readonly format: () => number;
  /** Reads the format again: afterwards `format` is at least the one that was recorded before the call. */
  readonly refresh: () => Promise<void>;
  /** Rejects when the subscription has failed and does not continue. */
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

/** Reads the current format of a log; infinite when this release cannot read the event that records it. */
export const formatOf = async (log: Pick<EventLog, 'readStream'>): Promise<number> => {
  const last = { direction: 'backwards', limit: 1 } as const;
  for await (const [event] of log.readStream(LOG_FORMAT_STREAM, last)) if (event) return formatIn(event);
  return initialLogFormat().format;
};

/** Reads the format of a log and keeps it current. The caller closes it. */
export const followFormat = async (log: EventLog): Promise<FormatInForce> => {
  const head = await log.head(); // read first, so that the subscription brings what is recorded meanwhile
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
