import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { DELIMITED, type Cursor, readLength, readTag, skipValue } from '../../kernel/encoding/wire-cursor.js';

/** `ExecutionCreateRequest.spec` and `.inputs`, and `ExecutionSpec.inputs`, which older clients send. */
const SPEC = 4;
const INPUTS = 5;
const SPEC_INPUTS = 2;

/**
 * The bytes of a message without one field, and the occurrences of that field. Concatenated, the occurrences of a
 * message field are one message.
 */
type Cut = { readonly rest: readonly Uint8Array[]; readonly occurrences: readonly Uint8Array[] };

/**
 * Removes a length-delimited field from a message. `changed` may replace other length-delimited fields: it is given the
 * number and the value of one, and returns the new field with its tag and length, or `undefined` to keep the old one.
 */
const cut = (
  bytes: Uint8Array,
  field: number,
  changed: (field: number, value: Uint8Array) => Uint8Array | undefined = () => undefined,
): Cut => {
  const cursor: Cursor = { bytes, pos: 0 };
  const rest: Uint8Array[] = [];
  const occurrences: Uint8Array[] = [];
  while (cursor.pos < bytes.length) {
    const start = cursor.pos;
    const tag = readTag(cursor, bytes.length);
    const number = tag >>> 3;
    if ((tag & 7) !== DELIMITED) {
      skipValue(cursor, bytes.length, tag);
      rest.push(bytes.subarray(start, cursor.pos));
      continue;
    }
    const end = readLength(cursor, bytes.length);
    const value = bytes.subarray(cursor.pos, end);
    cursor.pos = end;
    if (number === field) occurrences.push(value);
    else rest.push(changed(number, value) ?? bytes.subarray(start, end));
  }
  return { rest, occurrences };
};

/** A launch request without its inputs, and the inputs as an encoded `core.LiteralMap`. */
export type CutRequest = { readonly rest: Uint8Array; readonly inputs: Uint8Array };

/**
 * Separates the inputs from a launch request without decoding them.
 *
 * @throws {Malformed} when the bytes are not a message.
 */
export const cutInputs = (request: Uint8Array): CutRequest => {
  const old: Uint8Array[] = [];
  const withoutOld = (field: number, value: Uint8Array): Uint8Array | undefined => {
    if (field !== SPEC) return undefined;
    const { rest, occurrences } = cut(value, SPEC_INPUTS);
    for (const each of occurrences) old.push(each); // a spread of very many overflows the stack
    return new BinaryWriter().tag(SPEC, WireType.LengthDelimited).bytes(Buffer.concat(rest)).finish();
  };
  const { rest, occurrences } = cut(request, INPUTS, withoutOld);
  const given = Buffer.concat(occurrences);
  return { rest: Buffer.concat(rest), inputs: given.length > 0 ? given : Buffer.concat(old) };
};
