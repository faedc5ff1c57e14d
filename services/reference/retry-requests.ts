import { decodeEvent } from '../kernel/decode-event.js';
import { type EventMetadata, metadataOf } from '../kernel/event.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import type { StreamName } from '../kernel/stream.js';
import { PARKED_STREAM_CATEGORY, parkedStreamCodec, RETRIES_STREAM } from '../parked-stream/events.js';

/** The requests to read parked streams again, from now on. */
export type RetryRequests = {
  /** Rejects when the log can no longer be followed. */
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * Calls `retry` with each stream that is asked to be read again from now on, one after another. Requests from before
 * do not matter: a process that starts reads all streams anew. The caller closes it.
 *
 * @param retry must not throw.
 */
export const followRetryRequests = async (
  log: Pick<EventLog, 'head' | 'subscribe'>,
  retry: (stream: StreamName) => Promise<void>,
): Promise<RetryRequests> => {
  const options = { after: await log.head(), filter: { categories: [PARKED_STREAM_CATEGORY] } };
  return log.subscribe(options, async ({ events }) => {
    for (const event of events) await retry(decodeEvent(parkedStreamCodec, event).data.stream as StreamName);
  });
};

/** The last request to read a stream again: its principal and its time. */
export type LastRetry = Pick<EventMetadata, 'actor' | 'recordedAtMs'>;

/** The newest requests that are looked at. */
const MAX_REQUESTS = 1_000;

/** Reads the last request for each stream, of the newest {@link MAX_REQUESTS}. */
export const lastRetries = async (log: Pick<EventLog, 'readStream'>): Promise<ReadonlyMap<string, LastRetry>> => {
  const last = new Map<string, LastRetry>();
  for await (const page of log.readStream(RETRIES_STREAM, { direction: 'backwards', limit: MAX_REQUESTS }))
    for (const event of page) {
      const { stream } = decodeEvent(parkedStreamCodec, event).data;
      if (!last.has(stream)) last.set(stream, metadataOf(event));
    }
  return last;
};
