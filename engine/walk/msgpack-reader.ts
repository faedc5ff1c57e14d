import { type PlainValue } from './msgpack.js';

type Cursor = { readonly bytes: Buffer; at: number };

const take = (cursor: Cursor, count: number): Buffer => {
  const from = cursor.at;
  cursor.at += count;
  if (cursor.at > cursor.bytes.length) throw new RangeError('the packed value ends early');
  return cursor.bytes.subarray(from, cursor.at);
};

const count = (cursor: Cursor, bytes: number): number => take(cursor, bytes).readUIntBE(0, bytes);

const keyText = (key: PlainValue): string => (typeof key === 'object' ? '' : String(key));

const list = (cursor: Cursor, length: number): PlainValue => Array.from({ length }, () => next(cursor));

const object = (cursor: Cursor, length: number): PlainValue =>
  Object.fromEntries(Array.from({ length }, () => [keyText(next(cursor)), next(cursor)]));

const text = (cursor: Cursor, length: number): PlainValue => take(cursor, length).toString();

const READERS: Readonly<Record<number, (cursor: Cursor) => PlainValue>> = {
  0xc0: () => null,
  0xc2: () => false,
  0xc3: () => true,
  // Bytes (`bin`) are read as text: no value of the engine has bytes.
  0xc4: (cursor) => text(cursor, count(cursor, 1)),
  0xc5: (cursor) => text(cursor, count(cursor, 2)),
  0xc6: (cursor) => text(cursor, count(cursor, 4)),
  0xca: (cursor) => ({ $float: take(cursor, 4).readFloatBE() }),
  0xcb: (cursor) => ({ $float: take(cursor, 8).readDoubleBE() }),
  0xcc: (cursor) => count(cursor, 1),
  0xcd: (cursor) => count(cursor, 2),
  0xce: (cursor) => count(cursor, 4),
  0xcf: (cursor) => take(cursor, 8).readBigUInt64BE(),
  0xd0: (cursor) => take(cursor, 1).readInt8(),
  0xd1: (cursor) => take(cursor, 2).readInt16BE(),
  0xd2: (cursor) => take(cursor, 4).readInt32BE(),
  0xd3: (cursor) => take(cursor, 8).readBigInt64BE(),
  0xd9: (cursor) => text(cursor, count(cursor, 1)),
  0xda: (cursor) => text(cursor, count(cursor, 2)),
  0xdb: (cursor) => text(cursor, count(cursor, 4)),
  0xdc: (cursor) => list(cursor, count(cursor, 2)),
  0xdd: (cursor) => list(cursor, count(cursor, 4)),
  0xde: (cursor) => object(cursor, count(cursor, 2)),
  0xdf: (cursor) => object(cursor, count(cursor, 4)),
};

const next = (cursor: Cursor): PlainValue => {
  const marker = count(cursor, 1);
  if (marker < 0x80) return marker;
  if (marker < 0x90) return object(cursor, marker & 0x0f);
  if (marker < 0xa0) return list(cursor, marker & 0x0f);
  if (marker < 0xc0) return text(cursor, marker & 0x1f);
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
  let here = value;
  for (const step of path) {
    if (here === null || typeof here !== 'object') return undefined;
    here = (here as Readonly<Record<string | number, PlainValue>>)[step];
  }
  return here;
};
