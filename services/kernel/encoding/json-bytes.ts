/** JSON in the making, as UTF-8. What has been written last can be taken back by setting `length`. */
export type JsonBytes = { bytes: Buffer; length: number };

const FIRST_BYTES = 16 * 1024;

/** Longer texts are looked at and copied whole, which is faster from here on. */
const SHORT = 48;

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LAST_PLAIN = 0x7e;

/** Opens an empty one. */
export const openJson = (): JsonBytes => ({ bytes: Buffer.allocUnsafe(FIRST_BYTES), length: 0 });

/** What has been written, in a buffer of its own. */
export const copyOf = ({ bytes, length }: JsonBytes): Buffer => Buffer.from(bytes.subarray(0, length));

const grow = (json: JsonBytes, needed: number): void => {
  const larger = Buffer.allocUnsafe(Math.max(needed, 2 * json.bytes.length));
  larger.set(json.bytes.subarray(0, json.length));
  json.bytes = larger;
};

const makeRoom = (json: JsonBytes, count: number): void => {
  if (json.length + count > json.bytes.length) grow(json, json.length + count);
};

/** Writes one character of ASCII. */
export const writeByte = (json: JsonBytes, byte: number): void => {
  makeRoom(json, 1);
  json.bytes[json.length++] = byte;
};

/** Writes text of ASCII alone. */
export const writeAscii = (json: JsonBytes, text: string): void => {
  makeRoom(json, text.length);
  json.length += json.bytes.write(text, json.length, 'latin1');
};

/** Writes text. */
export const writeText = (json: JsonBytes, text: string): void => {
  makeRoom(json, 3 * text.length);
  json.length += json.bytes.write(text, json.length, 'utf8');
};

/** Writes what is JSON already; short. */
export const writeKey = (json: JsonBytes, key: Uint8Array): void => {
  makeRoom(json, key.length);
  const { bytes } = json;
  let at = json.length;
  for (const byte of key) bytes[at++] = byte;
  json.length = at;
};

const isPlain = (byte: number): boolean => byte >= SPACE && byte <= LAST_PLAIN && byte !== QUOTE && byte !== BACKSLASH;

const areAllPlain = (source: Uint8Array, from: number, to: number): boolean => {
  for (let at = from; at < to; at += 1) if (!isPlain(source[at] ?? 0)) return false;
  return true;
};

const copyShort = (json: JsonBytes, source: Uint8Array, from: number, to: number): boolean => {
  const { bytes } = json;
  let out = json.length + 1;
  for (let at = from; at < to; at += 1) {
    const byte = source[at] ?? 0;
    if (!isPlain(byte)) return false;
    bytes[out++] = byte;
  }
  return true;
};

const copyLong = (json: JsonBytes, source: Uint8Array, from: number, to: number): boolean => {
  if (!areAllPlain(source, from, to)) return false;
  json.bytes.set(source.subarray(from, to), json.length + 1);
  return true;
};

/**
 * Writes bytes as a text in quotes, when they are characters that stand for themselves.
 *
 * @returns whether they are; nothing is written otherwise.
 */
export const writePlainText = (json: JsonBytes, source: Uint8Array, from: number, to: number): boolean => {
  const size = to - from;
  makeRoom(json, size + 2);
  const copy = size <= SHORT ? copyShort : copyLong;
  if (!copy(json, source, from, to)) return false;
  json.bytes[json.length] = QUOTE;
  json.bytes[json.length + size + 1] = QUOTE;
  json.length += size + 2;
  return true;
};
