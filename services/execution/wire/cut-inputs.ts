import { DELIMITED, type Cursor, readLength, readTag, skipValue } from '../../kernel/encoding/wire-cursor.js';

/** `ExecutionCreateRequest.spec` and `.inputs`, and `ExecutionSpec.inputs`, which older clients send. */
const SPEC = 4;
const INPUTS = 5;
const SPEC_INPUTS = 2;

const MAX_DEPTH = 100;
const VARINT_BITS = 7;

/**
 * The bytes of a message without one field, and the occurrences of that field. Concatenated, the occurrences of a
 * message field are one message.
 */
type Cut = { readonly rest: readonly Uint8Array[]; readonly occurrences: readonly Uint8Array[] };

const join = (chunks: readonly Uint8Array[]): Uint8Array => Buffer.concat(chunks);

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 2 ** VARINT_BITS; left = Math.floor(left / 2 ** VARINT_BITS)) bytes.push((left & 0x7f) | 0x80);
  return [...bytes, left];
};

/**
 * Removes a length-delimited field from a message. `changed` may replace other length-delimited fields; it returns
 * `undefined` to keep one.
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
      skipValue(cursor, bytes.length, tag, MAX_DEPTH);
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
    old.push(...occurrences);
    const spec = join(rest);
    return join([Uint8Array.from([(SPEC << 3) | DELIMITED, ...varint(spec.length)]), spec]);
  };
  const { rest, occurrences } = cut(request, INPUTS, withoutOld);
  const given = join(occurrences);
  return { rest: join(rest), inputs: given.length > 0 ? given : join(old) };
};
