import type { UnknownField } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/**
 * The bytes of one field of a message that may be large, each time that it is there, as a message that has nothing else;
 * of a field that is a message, those of one field in it.
 *
 * @throws {Error} when the bytes are no message; they are not looked at any closer than that.
 */
export const fieldBytes = (message: Uint8Array, number: number, inner?: number): Uint8Array => {
  const reader = new BinaryReader(message);
  const parts: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    const from = reader.pos;
    reader.skip(wireType, field);
    if (field !== number) continue;
    if (inner === undefined || wireType !== WireType.LengthDelimited) parts.push(message.subarray(start, reader.pos));
    else {
      const within = fieldBytes(new BinaryReader(message.subarray(from, reader.pos)).bytes(), inner);
      parts.push(new BinaryWriter().tag(number, wireType).bytes(within).finish());
    }
  }
  return Buffer.concat(parts);
};

/** A field whose message is encoded already, for the message that has it: it goes among what that one does not know. */
export const encodedField = (number: number, message: Uint8Array): UnknownField => ({
  no: number,
  wireType: WireType.LengthDelimited,
  data: new BinaryWriter().bytes(message).finish(),
});
