import type { Logger } from 'pino';
import { decodeEvent, recordedMetadata } from '../../kernel/decode-event.js';
import type { ParkedStreams } from '../../kernel/log-readers/parked-streams.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { categoryOf, type StreamName } from '../../kernel/stream.js';
import { followRetryRequests, type RetryRequests } from '../../reference/retry-requests.js';
import { codecs } from '../models.js';

type ParkedRetriesParts = {
  readonly store: EventLog;
  readonly parked: ParkedStreams;
  readonly logger: Logger;
};

/** @throws {StreamParked} when an event of the stream still cannot be decoded. */
const decodeAll = async (store: EventLog, stream: StreamName): Promise<void> => {
  const codec = codecs.get(categoryOf(stream));
  if (codec === undefined) return;
  for await (const page of store.readStream(stream))
    for (const event of page) {
      recordedMetadata(event);
      decodeEvent(codec, event);
    }
};

/**
 * Reads each stream that this process has parked again when an operator asks for it, and resumes the stream when all
 * its events can be read. The views have parked streams of their own, which their thread retries.
 */
export const retryParkedStreams = ({ store, parked, logger }: ParkedRetriesParts): Promise<RetryRequests> => {
  const isParked = (stream: StreamName): boolean => parked.all().some((each) => each.stream === stream);
  const retry = async (stream: StreamName): Promise<void> => {
    if (!isParked(stream)) return;
    try {
      await decodeAll(store, stream);
      await parked.resume(stream);
      if (isParked(stream)) logger.error({ stream }, 'the stream stays parked');
      else logger.info({ stream }, 'the stream was parked, and can be read again');
    } catch (error) {
      const state = isParked(stream) ? 'stays parked' : 'can be read again, but what was made of it is not up to date';
      logger.error({ stream, err: error }, `the stream ${state}`);
    }
  };
  return followRetryRequests(store, retry, (unreadable) => parked.note(unreadable));
};
