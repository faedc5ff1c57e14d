/** JSON being written, as UTF-8. Setting `length` back undoes the last writes. */
export type JsonBytes = { bytes: Buffer; length: number };

const FIRST_BYTES = 16 * 1024;

/** Above this many bytes, checking and copying a text in two passes over the whole is faster. */
const SHORT = 48;

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LAST_PLAIN = 0x7e;

/** Opens an empty JSON buffer. */
export const openJson = (): JsonBytes => ({ bytes: Buffer.allocUnsafe(FIRST_BYTES), length: 0 });

/** Copies the bytes written so far into a new buffer. */
export const copyOf = ({ bytes, length }: JsonBytes): Buffer => Buffer.from(bytes.subarray(0, length));

const grow = (json: JsonBytes, needed: number): void => {
  const larger = Buffer.allocUnsafe(Math.max(needed, 2 * json.bytes.length));
  larger.set(json.bytes.subarray(0, json.length));
  json.bytes = larger;
};

const ensureCapacity = (json: JsonBytes, count: number): void => {
  if (json.length + count > json.bytes.length) grow(json, json.length + count);
};

/** Writes one ASCII character. */
export const writeByte = (json: JsonBytes, byte: number): void => {
  ensureCapacity(json, 1);
  json.bytes[json.length++] = byte;
};

/** Writes a text that has only ASCII characters. */
export const writeAscii = (json: JsonBytes, text: string): void => {
  ensureCapacity(json, text.length);
  json.length += json.bytes.write(text, json.length, 'latin1');
};

/** Writes any text as UTF-8. */
export const writeText = (json: JsonBytes, text: string): void => {
  ensureCapacity(json, 3 * text.length);
  json.length += json.bytes.write(text, json.length, 'utf8');
};

/** Writes bytes that are already JSON, such as a key with its colon. Meant for short values. */
export const writeEncoded = (json: JsonBytes, encoded: Uint8Array): void => {
  ensureCapacity(json, encoded.length);
  const { bytes } = json;
  let at = json.length;
  for (const byte of encoded) bytes[at++] = byte;
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
 * Writes bytes as a quoted JSON string, if they are all printable ASCII characters that need no escape.
 *
 * @returns true when they were written; false when another character is among them, and then nothing is written.
 */
export const writePlainText = (json: JsonBytes, source: Uint8Array, from: number, to: number): boolean => {
  const size = to - from;
  ensureCapacity(json, size + 2);
  const copy = size <= SHORT ? copyShort : copyLong;
  if (!copy(json, source, from, to)) return false;
  json.bytes[json.length] = QUOTE;
  json.bytes[json.length + size + 1] = QUOTE;
  json.length += size + 2;
  return true;
};
