/** A value of a data class, of the kinds that the engine makes and reads. */
export type PlainValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly PlainValue[]
  | { readonly $float: number }
  | { readonly [key: string]: PlainValue };

const FLOAT_64 = 0xcb;
const INT_64 = 0xd3;
const UINT_64 = 0xcf;
const MAX_INT_64 = 2n ** 63n - 1n;

const head = (marker: number, bytes: number, value: bigint): Buffer => {
  const out = Buffer.alloc(1 + bytes);
  out[0] = marker;
  for (let index = bytes; index > 0; index--) {
    out[index] = Number(BigInt.asUintN(8, value >> BigInt((bytes - index) * 8)));
  }
  return out;
};

const float = (value: number): Buffer => {
  const out = Buffer.alloc(9);
  out[0] = FLOAT_64;
  out.writeDoubleBE(value, 1);
  return out;
};

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value);
  const size = bytes.length < 32 ? Buffer.of(0xa0 | bytes.length) : head(0xdb, 4, BigInt(bytes.length));
  return Buffer.concat([size, bytes]);
};

const sized = (short: number, long: number, count: number): Buffer =>
  count < 16 ? Buffer.of(short | count) : head(long, 4, BigInt(count));

const integer = (value: bigint): Buffer => {
  if (value >= 0n && value < 128n) return Buffer.of(Number(value));
  return head(value > MAX_INT_64 ? UINT_64 : INT_64, 8, value);
};

const packObject = (value: Readonly<Record<string, PlainValue>>): Buffer => {
  const entries = Object.entries(value);
  return Buffer.concat([
    sized(0x80, 0xdf, entries.length),
    ...entries.flatMap(([key, each]) => [text(key), pack(each)]),
  ]);
};

const isFloat = (value: object): value is { readonly $float: number } => '$float' in value;

/** Encodes a value as MessagePack; `{ $float }` marks a number that is encoded as a float even when it is whole. */
export const pack = (value: PlainValue): Buffer => {
  if (value === null) return Buffer.of(0xc0);
  if (typeof value === 'boolean') return Buffer.of(value ? 0xc3 : 0xc2);
  if (typeof value === 'string') return text(value);
  if (typeof value === 'bigint') return integer(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? integer(BigInt(value)) : float(value);
  if (Array.isArray(value)) {
    const items = value as readonly PlainValue[];
    return Buffer.concat([sized(0x90, 0xdd, items.length), ...items.map(pack)]);
  }
  const object = value as Readonly<Record<string, PlainValue>>;
  return isFloat(object) ? float(object.$float) : packObject(object);
};

type Cursor = { readonly bytes: Buffer; at: number };

const take = (cursor: Cursor, count: number): Buffer => {
  const from = cursor.at;
  cursor.at += count;
  if (cursor.at > cursor.bytes.length) throw new RangeError('the packed value ends early');
  return cursor.bytes.subarray(from, cursor.at);
};

const countOf = (cursor: Cursor, bytes: number): number => take(cursor, bytes).readUIntBE(0, bytes);

const keyText = (key: PlainValue): string => (typeof key === 'object' ? '' : String(key));

const listOf = (cursor: Cursor, length: number): PlainValue => Array.from({ length }, () => next(cursor));

const objectOf = (cursor: Cursor, length: number): PlainValue =>
  Object.fromEntries(Array.from({ length }, () => [keyText(next(cursor)), next(cursor)]));

const textOf = (cursor: Cursor, length: number): PlainValue => take(cursor, length).toString();

const READERS: Readonly<Record<number, (cursor: Cursor) => PlainValue>> = {
  0xc0: () => null,
  0xc2: () => false,
  0xc3: () => true,
  // Bytes (`bin`) are read as text: no value of the engine has bytes.
  0xc4: (cursor) => textOf(cursor, countOf(cursor, 1)),
  0xc5: (cursor) => textOf(cursor, countOf(cursor, 2)),
  0xc6: (cursor) => textOf(cursor, countOf(cursor, 4)),
  0xca: (cursor) => ({ $float: take(cursor, 4).readFloatBE() }),
  0xcb: (cursor) => ({ $float: take(cursor, 8).readDoubleBE() }),
  0xcc: (cursor) => countOf(cursor, 1),
  0xcd: (cursor) => countOf(cursor, 2),
  0xce: (cursor) => countOf(cursor, 4),
  0xcf: (cursor) => take(cursor, 8).readBigUInt64BE(),
  0xd0: (cursor) => take(cursor, 1).readInt8(),
  0xd1: (cursor) => take(cursor, 2).readInt16BE(),
  0xd2: (cursor) => take(cursor, 4).readInt32BE(),
  0xd3: (cursor) => take(cursor, 8).readBigInt64BE(),
  0xd9: (cursor) => textOf(cursor, countOf(cursor, 1)),
  0xda: (cursor) => textOf(cursor, countOf(cursor, 2)),
  0xdb: (cursor) => textOf(cursor, countOf(cursor, 4)),
  0xdc: (cursor) => listOf(cursor, countOf(cursor, 2)),
  0xdd: (cursor) => listOf(cursor, countOf(cursor, 4)),
  0xde: (cursor) => objectOf(cursor, countOf(cursor, 2)),
  0xdf: (cursor) => objectOf(cursor, countOf(cursor, 4)),
};

const next = (cursor: Cursor): PlainValue => {
  const marker = countOf(cursor, 1);
  if (marker < 0x80) return marker;
  if (marker < 0x90) return objectOf(cursor, marker & 0x0f);
  if (marker < 0xa0) return listOf(cursor, marker & 0x0f);
  if (marker < 0xc0) return textOf(cursor, marker & 0x1f);
  if (marker >= 0xe0) return marker - 0x100;
  const read = READERS[marker];
  if (!read) throw new RangeError(`the packed value has an unknown marker ${marker}`);
  return read(cursor);
};

/**
 * Decodes one MessagePack value. Floats are returned as `{ $float }`, so that `pack` makes floats of them again.
 *
 * @throws {RangeError} when the bytes end early or contain an unknown marker.
 */
export const unpack = (bytes: Uint8Array): PlainValue => next({ bytes: Buffer.from(bytes), at: 0 });

/** Follows a path of keys and indices; `undefined` when it leads nowhere. */
export const valueAtPath = (
  value: PlainValue | undefined,
  path: readonly (string | number)[],
): PlainValue | undefined => {
  let current = value;
  for (const step of path) {
    if (current === null || typeof current !== 'object') return undefined;
    current = (current as Readonly<Record<string | number, PlainValue>>)[step];
  }
  return current;
};
