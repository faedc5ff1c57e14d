import type { Position, RecordedEvent as Theirs } from '@eventstore/db-client';
import type { RecordedEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';

const metadataText = (metadata: unknown): string => {
  if (metadata === undefined) return '{}';
  return metadata instanceof Uint8Array
    ? Buffer.from(metadata.buffer, metadata.byteOffset, metadata.length).toString()
    : JSON.stringify(metadata);
};

const dataBytes = (data: unknown): Uint8Array =>
  data instanceof Uint8Array ? data : Buffer.from(typeof data === 'string' ? data : JSON.stringify(data));

/** Converts a log position to that of the client library, whose two numbers are equal for events of this system. */
export const positionOf = (position: bigint): Position => ({ commit: position, prepare: position });

/** Converts an event of the client library to a recorded event. */
export const toOurs = (event: Theirs): RecordedEvent => ({
  stream: event.streamId as StreamName,
  revision: event.revision,
  position: event.position?.commit ?? 0n,
  id: Buffer.from(event.id.replaceAll('-', ''), 'hex'),
  type: event.type,
  data: dataBytes(event.data),
  metadata: metadataText(event.metadata),
});
