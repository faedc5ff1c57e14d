import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';

import { CorruptEvent } from '../../services/kernel/fault.js';
import type { Content } from '../../services/kernel/ports/payload-store.js';

/** Where a part keeps its message: it goes with the part, and costs the collector nothing that a weak map does. */
const MESSAGE = Symbol('message');

type Part = Content & { [MESSAGE]?: unknown };

/**
 * The bytes of a part of an event that has been brought in.
 *
 * @throws {CorruptEvent} when they are not there.
 */
export const bytesIn = (part: Content | undefined): Uint8Array => {
  if (part?.content.case !== 'inline') throw new CorruptEvent('a part of the event has not been brought in');
  return part.content.value;
};

const read = <Message>(part: Content, decode: (bytes: Uint8Array) => Message): Message => {
  const bytes = bytesIn(part);
  try {
    return decode(bytes);
  } catch (error) {
    throw new CorruptEvent('a part of the event cannot be decoded', error);
  }
};

/**
 * What a part of an event says, read once for all read models. A part is read in one way. What is answered is shared:
 * documents take from it, and change nothing in it.
 *
 * @throws {CorruptEvent} when the bytes cannot be read so, or are not there.
 */
export const readIn = <Message>(decode: (bytes: Uint8Array) => Message, part: Content): Message => {
  const holder: Part = part;
  return (holder[MESSAGE] ??= read(part, decode)) as Message;
};

/**
 * The message in a part of an event, as `readIn` reads it.
 *
 * @throws {CorruptEvent} when the bytes are not that message, or not there.
 */
export const messageIn = <Desc extends DescMessage>(schema: Desc, part: Content): MessageShape<Desc> =>
  readIn((bytes) => fromBinary(schema, bytes), part);
