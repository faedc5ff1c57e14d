import { BinaryReader } from '@bufbuild/protobuf/wire';

/**
 * The bytes of one field of a message that may be large, each time that it is there, as a message that has nothing else.
 *
 * @throws {Error} when the bytes are no message; they are not looked at any closer than that.
 */
export const fieldBytes = (message: Uint8Array, number: number): Uint8Array => {
  const reader = new BinaryReader(message);
  const parts: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    if (field === number) parts.push(message.subarray(start, reader.pos));
  }
  return Buffer.concat(parts);
};
