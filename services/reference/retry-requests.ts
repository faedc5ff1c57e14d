import { decodeEvent, recordedMetadata } from '../kernel/decode-event.js';
import type { EventMetadata, RecordedEvent } from '../kernel/event.js';
import { StreamParked } from '../kernel/fault.js';
import type { OnParked } from '../kernel/log-readers/parkable-fold.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { categoryOf, type StreamName } from '../kernel/stream.js';
import { PARKED_STREAM_CATEGORY, parkedStreamCodec, RETRIES_STREAM } from '../parked-stream/events.js';

/** The requests to read parked streams again, from now on. */
export type RetryRequests = {
  /** Rejects when the log can no longer be followed. */
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
};

/** The last request to read a stream again: its principal and its time. */
export type LastRetry = Pick<EventMetadata, 'actor' | 'recordedAtMs'>;

type Request = { readonly stream: StreamName; readonly metadata: LastRetry };

/**
 * Reads a request. One that cannot be read is reported and left out: it asks for nothing that this release knows, and
 * other requests do not depend on it.
 */
const requestIn = (event: RecordedEvent, onParked: OnParked): Request | undefined => {
  try {
    const { stream } = decodeEvent(parkedStreamCodec, event).data;
    return { stream: stream as StreamName, metadata: recordedMetadata(event) };
  } catch (error) {
    if (!(error instanceof StreamParked)) throw error;
    onParked(error);
    return undefined;
  }
};

/** The stream that an event requests to retry; `undefined` for other events, and for a request that cannot be read. */
export const retriedBy = (event: RecordedEvent): StreamName | undefined =>
  categoryOf(event.stream) === PARKED_STREAM_CATEGORY ? requestIn(event, () => undefined)?.stream : undefined;

/**
 * Calls `retry` with each stream that is asked to be read again from now on, one after another. Requests from before
 * do not matter: a process that starts reads all streams anew. The caller closes it.
 *
 * @param retry must not throw.
 * @param onParked is called with each request that cannot be read.
 */
export const followRetryRequests = async (
  log: Pick<EventLog, 'head' | 'subscribe'>,
  retry: (stream: StreamName) => Promise<void>,
  onParked: OnParked = () => undefined,
): Promise<RetryRequests> => {
  const options = { after: await log.head(), filter: { categories: [PARKED_STREAM_CATEGORY] } };
  return log.subscribe(options, async ({ events }) => {
    for (const event of events) {
      const request = requestIn(event, onParked);
      if (request) await retry(request.stream);
    }
  });
};

/** Maximum number of requests that are looked at; the newest count. */
const MAX_REQUESTS = 1_000;

/** Reads the last request for each stream, of the newest {@link MAX_REQUESTS}; reports those that cannot be read. */
export const lastRetries = async (
  log: Pick<EventLog, 'readStream'>,
  onParked: OnParked = () => undefined,
): Promise<ReadonlyMap<string, LastRetry>> => {
  const last = new Map<string, LastRetry>();
  for await (const page of log.readStream(RETRIES_STREAM, { direction: 'backwards', limit: MAX_REQUESTS }))
    for (const event of page) {
      const request = requestIn(event, onParked);
      if (request && !last.has(request.stream)) last.set(request.stream, request.metadata);
    }
  return last;
};
