import { sha256 } from '../kernel/hash.js';
import type { EventId } from '../kernel/event.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;

const uuidBytes = (uuid: string): Uint8Array => new Uint8Array(Buffer.from(uuid.replaceAll('-', ''), 'hex'));

/**
 * The ids of the events that a command records, in order: the command's id with the event's number added to its last
 * four bytes. A command id that is no UUID is hashed to one first.
 */
export const eventIds = (commandId: string, count: number): readonly EventId[] => {
  const base = UUID.test(commandId) ? uuidBytes(commandId) : sha256(commandId).subarray(0, 16);
  const last = new DataView(base.buffer, base.byteOffset).getUint32(12);
  return Array.from({ length: count }, (_, index) => {
    const id = index === 0 ? base : base.slice();
    new DataView(id.buffer, id.byteOffset).setUint32(12, (last + index) >>> 0);
    return id;
  });
};
