import type { EventCodec } from './aggregate.js';
import { type EventMetadata, metadataOf, type RecordedEvent, schemaOf } from './event.js';
import { Fault, StreamParked } from './fault.js';

/**
 * Runs `read` on an event and reports any error as a parked stream. The text of an error that is no fault is for the
 * server's output, so callers get a reason without it.
 *
 * @throws {StreamParked} when `read` throws anything.
 */
export const readingEvent = <Result>({ stream, position }: RecordedEvent, read: () => Result): Result => {
  try {
    return read();
  } catch (error) {
    throw new StreamParked(stream, position, error, error instanceof Fault ? error.message : 'it cannot be read');
  }
};

/**
 * Decodes an event of a stream.
 *
 * @throws {StreamParked} when this release cannot decode it.
 */
export const decodeEvent = <Event>(codec: EventCodec<Event>, event: RecordedEvent): Event =>
  readingEvent(event, () => codec.decode(event.type, event.data, schemaOf(event)));

/**
 * Reads the metadata of an event of a stream.
 *
 * @throws {StreamParked} when no control plane can have recorded the metadata.
 */
export const recordedMetadata = (event: RecordedEvent): EventMetadata => readingEvent(event, () => metadataOf(event));
