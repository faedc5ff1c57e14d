import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';

import { CorruptEvent } from '../../services/kernel/fault.js';
import type { Content } from '../../services/kernel/ports/payload-store.js';

/**
 * Property under which a content caches its decoded message. It lives as long as the content, without the
 * garbage-collection cost of a weak map.
 */
const MESSAGE = Symbol('message');

type Part = Content & { [MESSAGE]?: unknown };

/**
 * The bytes of an event's content that has been loaded.
 *
 * @throws {CorruptEvent} when the content is not inline.
 */
export const loadedBytes = (part: Content | undefined): Uint8Array => {
  if (part?.content.case !== 'inline') throw new CorruptEvent('a large content of the event is not loaded');
  return part.content.value;
};

const read = <Message>(part: Content, decode: (bytes: Uint8Array) => Message): Message => {
  const bytes = loadedBytes(part);
  try {
    return decode(bytes);
  } catch (error) {
    throw new CorruptEvent('a content of the event cannot be decoded', error);
  }
};

/**
 * Decodes a content of an event, once for all read models: the result is cached on the content, so each content must
 * always be decoded in the same way. The result is shared: documents copy from it and must not change it.
 *
 * @throws {CorruptEvent} when the bytes cannot be decoded, or have not been loaded.
 */
export const readIn = <Message>(decode: (bytes: Uint8Array) => Message, part: Content): Message => {
  const holder: Part = part;
  return (holder[MESSAGE] ??= read(part, decode)) as Message;
};

/**
 * Decodes a content of an event as a Protobuf message, cached and shared as by `readIn`.
 *
 * @throws {CorruptEvent} when the bytes are not that message, or have not been loaded.
 */
export const loadedMessage = <Desc extends DescMessage>(schema: Desc, part: Content): MessageShape<Desc> =>
  readIn((bytes) => fromBinary(schema, bytes), part);
