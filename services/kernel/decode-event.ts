import type { EventCodec } from './aggregate.js';
import { type RecordedEvent, schemaOf } from './event.js';
import { StreamParked } from './fault.js';

/**
 * Reads something of an event.
 *
 * @throws {StreamParked} when that throws anything.
 */
export const readingEvent = <Result>({ stream, position }: RecordedEvent, read: () => Result): Result => {
  try {
    return read();
  } catch (error) {
    throw new StreamParked(stream, position, error);
  }
};

/**
 * Decodes an event of a stream.
 *
 * @throws {StreamParked} when its type or schema is unknown, or its bytes are not what its type says.
 */
export const decodeEvent = <Event>(codec: EventCodec<Event>, event: RecordedEvent): Event =>
  readingEvent(event, () => codec.decode(event.type, event.data, schemaOf(event)));
