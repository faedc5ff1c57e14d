import { binaryEvent, type BinaryEventData, type Position, type RecordedEvent as Theirs } from '@eventstore/db-client';
import type { NewEvent, RecordedEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';

const DASHED = /^(.{8})(.{4})(.{4})(.{4})/u;

const uuidText = (id: Uint8Array): string => Buffer.from(id).toString('hex').replace(DASHED, '$1-$2-$3-$4-');

/** An event as the client sends it: the data as they are, the metadata as the JSON that they are. */
export const toTheirs = ({ id, type, data, metadata }: NewEvent): BinaryEventData =>
  binaryEvent({
    id: uuidText(id),
    type,
    // Exactly this class, and a copy: the client knows no buffers, and the caller may use its own again.
    data: new Uint8Array(data),
    metadata: new Uint8Array(Buffer.from(metadata)),
  });

const metadataText = (metadata: unknown): string => {
  if (metadata === undefined) return '{}';
  return metadata instanceof Uint8Array ? Buffer.from(metadata).toString() : JSON.stringify(metadata);
};

const dataBytes = (data: unknown): Uint8Array =>
  data instanceof Uint8Array ? data : Buffer.from(typeof data === 'string' ? data : JSON.stringify(data));

/** The place of an event in the log; both numbers of it are one in what this system writes. */
export const positionOf = (position: bigint): Position => ({ commit: position, prepare: position });

/** An event that the client has read, as the log's readers see it. */
export const toOurs = (event: Theirs): RecordedEvent => ({
  stream: event.streamId as StreamName,
  revision: event.revision,
  position: event.position?.commit ?? 0n,
  id: Buffer.from(event.id.replaceAll('-', ''), 'hex'),
  type: event.type,
  data: dataBytes(event.data),
  metadata: metadataText(event.metadata),
});
