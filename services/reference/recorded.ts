import type { EventCodec } from '../kernel/aggregate.js';
import { decodeEvent } from '../kernel/decode-event.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import type { StreamName } from '../kernel/stream.js';

/**
 * Reads the event of a stream at a revision; `undefined` when there is none.
 *
 * @throws {StreamParked} when the event cannot be decoded.
 */
export const recordedAt = async <Event>(
  log: EventLog,
  codec: EventCodec<Event>,
  stream: StreamName,
  revision: bigint,
): Promise<Event | undefined> => {
  for await (const page of log.readStream(stream, { from: revision, limit: 1 })) {
    const [event] = page;
    if (event !== undefined) return decodeEvent(codec, event);
  }
  return undefined;
};
