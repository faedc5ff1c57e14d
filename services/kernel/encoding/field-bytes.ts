import type { UnknownField } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/**
 * Extracts all occurrences of one field, as an encoded message that has only this field; the rest of a large message is
 * not decoded. With `inner`, each occurrence is itself reduced to that field of the nested message.
 *
 * @throws {Error} when the bytes are not a protobuf message; they are not validated beyond the scan for fields.
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

/**
 * An already encoded message as a field of another message. It is passed as an unknown field, which the library writes
 * unchanged.
 */
export const encodedField = (number: number, message: Uint8Array): UnknownField => ({
  no: number,
  wireType: WireType.LengthDelimited,
  data: new BinaryWriter().bytes(message).finish(),
});
