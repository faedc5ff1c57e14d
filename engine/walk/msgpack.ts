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

const integer = (value: bigint): Buffer =>
  value >= 0n && value < 128n ? Buffer.of(Number(value)) : head(INT_64, 8, value);

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
  if (typeof value === 'number') return Number.isInteger(value) ? integer(BigInt(value)) : float(value);
  if (Array.isArray(value)) {
    const items = value as readonly PlainValue[];
    return Buffer.concat([sized(0x90, 0xdd, items.length), ...items.map(pack)]);
  }
  const object = value as Readonly<Record<string, PlainValue>>;
  return isFloat(object) ? float(object.$float) : packObject(object);
};
