import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromBinary,
  type Registry,
  ScalarType,
  toJson,
} from '@bufbuild/protobuf';
import { type BinaryReader, getTextEncoding, WireType } from '@bufbuild/protobuf/wire';
import { type JsonBytes, writeAscii, writePlainText, writeText } from '../kernel/encoding/json-bytes.js';

/** Thrown for an encoding that this writer does not handle: the protobuf library then encodes the event again. */
class Unusual extends Error {}

const UNUSUAL = new Unusual('an unusual encoding');

/** Throws one shared error: to make an error for each message would cost more than the work that it ends. */
export const throwUnusual = (): never => {
  throw UNUSUAL;
};

/** The state of one conversion to JSON: the reader moves over the bytes. */
export type ConversionState = {
  readonly reader: BinaryReader;
  readonly bytes: Uint8Array;
  readonly json: JsonBytes;
  /** The number of messages around the current one. */
  depth: number;
  /** Content that cannot be decoded is written as the content message, with its bytes in base64, instead of failing. */
  readonly isLenient: boolean;
};

/** Writes the value at the reader; returns false when it is the zero of its type. */
export type ValueWriter = (state: ConversionState) => boolean;

/** A nesting depth that no event reaches: the library reads 100 levels in an event, and 100 in a message it carries. */
export const MAX_DEPTH = 250;

/** Reads the length at the reader; returns the end of the value, with the reader at its beginning. */
export const endOf = ({ reader }: ConversionState): number => {
  const length = reader.uint32();
  const end = reader.pos + length;
  return end > reader.len ? throwUnusual() : end;
};

const text: ValueWriter = (state) => {
  const { reader, bytes, json } = state;
  const end = endOf(state);
  const start = reader.pos;
  reader.pos = end;
  if (!writePlainText(json, bytes, start, end))
    writeText(json, JSON.stringify(getTextEncoding().decodeUtf8(bytes.subarray(start, end), true)));
  return end > start;
};

const base64: ValueWriter = ({ reader, json }) => {
  const value = reader.bytes();
  const { buffer, byteOffset, length } = value;
  writeAscii(json, `"${Buffer.from(buffer, byteOffset, length).toString('base64')}"`);
  return length > 0;
};

const boolean: ValueWriter = ({ reader, json }) => {
  const value = reader.bool();
  writeAscii(json, value ? 'true' : 'false');
  return value;
};

const whole =
  (read: (reader: BinaryReader) => number): ValueWriter =>
  ({ reader, json }) => {
    const value = read(reader);
    writeAscii(json, String(value));
    return value !== 0;
  };

/** The JSON mapping writes integers of 64 bits as strings. */
const long =
  (read: (reader: BinaryReader) => bigint | string): ValueWriter =>
  ({ reader, json }) => {
    const value = String(read(reader));
    writeAscii(json, `"${value}"`);
    return value !== '0';
  };

const real =
  (read: (reader: BinaryReader) => number): ValueWriter =>
  ({ reader, json }) => {
    const value = read(reader);
    writeAscii(json, Number.isFinite(value) ? JSON.stringify(value) : `"${value}"`);
    return !Object.is(value, 0);
  };

const { Varint, Bit32, Bit64, LengthDelimited } = WireType;

/** The wire type of a value, and its writer. */
export type ValueShape = { readonly wireType: WireType; readonly write: ValueWriter };

const SCALARS: Readonly<Record<ScalarType, ValueShape>> = {
  [ScalarType.STRING]: { wireType: LengthDelimited, write: text },
  [ScalarType.BYTES]: { wireType: LengthDelimited, write: base64 },
  [ScalarType.BOOL]: { wireType: Varint, write: boolean },
  [ScalarType.INT32]: { wireType: Varint, write: whole((reader) => reader.int32()) },
  [ScalarType.UINT32]: { wireType: Varint, write: whole((reader) => reader.uint32()) },
  [ScalarType.SINT32]: { wireType: Varint, write: whole((reader) => reader.sint32()) },
  [ScalarType.FIXED32]: { wireType: Bit32, write: whole((reader) => reader.fixed32()) },
  [ScalarType.SFIXED32]: { wireType: Bit32, write: whole((reader) => reader.sfixed32()) },
  [ScalarType.INT64]: { wireType: Varint, write: long((reader) => reader.int64()) },
  [ScalarType.UINT64]: { wireType: Varint, write: long((reader) => reader.uint64()) },
  [ScalarType.SINT64]: { wireType: Varint, write: long((reader) => reader.sint64()) },
  [ScalarType.FIXED64]: { wireType: Bit64, write: long((reader) => reader.fixed64()) },
  [ScalarType.SFIXED64]: { wireType: Bit64, write: long((reader) => reader.sfixed64()) },
  [ScalarType.FLOAT]: { wireType: Bit32, write: real((reader) => reader.float()) },
  [ScalarType.DOUBLE]: { wireType: Bit64, write: real((reader) => reader.double()) },
};

/** The writer of a scalar value. */
export const scalarShape = (scalar: ScalarType): ValueShape => SCALARS[scalar];

/** The writer of an enum value: its name or, where it has none, its number. */
export const enumShape = ({ value: names }: DescEnum): ValueShape => {
  const texts = new Map(
    Object.entries(names).map(([number, { jsonName }]) => [Number(number), JSON.stringify(jsonName)]),
  );
  return {
    wireType: Varint,
    write: ({ reader, json }) => {
      const number = reader.int32();
      writeAscii(json, texts.get(number) ?? String(number));
      return number !== 0;
    },
  };
};

const ZEROS: Readonly<Record<ScalarType, string | undefined>> = {
  [ScalarType.STRING]: undefined,
  [ScalarType.BYTES]: undefined,
  [ScalarType.BOOL]: 'false',
  [ScalarType.INT32]: '0',
  [ScalarType.UINT32]: '0',
  [ScalarType.SINT32]: '0',
  [ScalarType.FIXED32]: '0',
  [ScalarType.SFIXED32]: '0',
  [ScalarType.INT64]: '"0"',
  [ScalarType.UINT64]: '"0"',
  [ScalarType.SINT64]: '"0"',
  [ScalarType.FIXED64]: '"0"',
  [ScalarType.SFIXED64]: '"0"',
  [ScalarType.FLOAT]: '0',
  [ScalarType.DOUBLE]: '0',
};

/**
 * The JSON of a field that is absent on the wire, which means zero: for numbers, booleans and enums. `undefined` for
 * fields of other types, which are not written then.
 */
export const zeroOf = (field: DescField): string | undefined => {
  if (field.fieldKind === 'enum') return JSON.stringify(field.enum.value[0]?.name ?? 0);
  return field.fieldKind === 'scalar' ? ZEROS[field.scalar] : undefined;
};

/** The largest fifth byte of a varint whose value fits in 32 bits; five bytes have 35. */
const LAST_OF_32_BITS = 0x0f;

const secondsAt = ({ reader, bytes }: ConversionState): number => {
  const start = reader.pos;
  const low = reader.uint32();
  const size = reader.pos - start;
  if (size < 5 || (size === 5 && (bytes[start + 4] ?? 0) <= LAST_OF_32_BITS)) return low;
  reader.pos = start;
  return Number(reader.int64());
};

/** 0001-01-01 to the end of 9999, in seconds since 1970; source: google/protobuf/timestamp.proto. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;
const NANOS = 1_000_000_000;

const DAY = 86_400;
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
const twoDigits = (number: number): string => TWO_DIGITS[number] ?? '';

const dateOf = (day: number): string => new Date(day * DAY * 1_000).toISOString().slice(0, -14);

/** The last date, cached: timestamps that follow one another are mostly of one day. */
let lastDay = { day: 0, date: dateOf(0) };

const textOf = (seconds: number): string => {
  const day = Math.floor(seconds / DAY);
  if (lastDay.day !== day) lastDay = { day, date: dateOf(day) };
  const rest = seconds - day * DAY;
  const minutes = Math.floor(rest / 60);
  return `${lastDay.date}T${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}:${twoDigits(rest % 60)}`;
};

const fraction = (nanos: number): string => {
  if (nanos === 0) return '';
  const digits = String(nanos + NANOS).slice(1);
  if (digits.endsWith('000000')) return `.${digits.slice(0, 3)}`;
  return digits.endsWith('000') ? `.${digits.slice(0, 6)}` : `.${digits}`;
};

const SECONDS_TAG = 8;
const NANOS_TAG = 16;

const time: ValueWriter = (state) => {
  const { reader, json } = state;
  const end = endOf(state);
  let [seconds, nanos] = [0, 0];
  if (reader.pos < end && state.bytes[reader.pos] === SECONDS_TAG) {
    reader.pos += 1;
    seconds = secondsAt(state);
  }
  if (reader.pos < end && state.bytes[reader.pos] === NANOS_TAG) {
    reader.pos += 1;
    nanos = reader.int32();
  }
  if (reader.pos !== end || seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos >= NANOS)
    throwUnusual();
  writeAscii(json, `"${textOf(seconds)}${fraction(nanos)}Z"`);
  return true;
};

/** The writer of `google.protobuf.Timestamp`. */
export const TIME: ValueShape = { wireType: LengthDelimited, write: time };

/** A writer of any message, through the library. */
export const libraryShape = (schema: DescMessage, registry: Registry): ValueShape => ({
  wireType: LengthDelimited,
  write: ({ reader, json, depth }) => {
    const message = fromBinary(schema, reader.bytes(), { recursionLimit: MAX_DEPTH - depth });
    writeText(json, JSON.stringify(toJson(schema, message, { registry })));
    return true;
  },
});
