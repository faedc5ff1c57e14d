/** Field numbers of a list message. */
export type ListFields = { readonly elements: number; readonly token: number };

const LENGTH_DELIMITED = 2;

const varintSize = (value: number): number => {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
};

const writeVarint = (out: Uint8Array, at: number, value: number): number => {
  let place = at;
  for (let rest = value; ; rest = Math.floor(rest / 0x80)) {
    out[place++] = rest > 0x7f ? (rest % 0x80) + 0x80 : rest;
    if (rest <= 0x7f) return place;
  }
};

/**
 * Builds a list message of encoded elements and a token without decoding any element: an encoded message is the
 * concatenation of its fields. An empty token is left out.
 */
export const listMessage = (fields: ListFields, elements: readonly Uint8Array[], token: string): Uint8Array => {
  const parts = elements.map((bytes) => ({ tag: fields.elements * 8 + LENGTH_DELIMITED, bytes }));
  if (token) parts.push({ tag: fields.token * 8 + LENGTH_DELIMITED, bytes: new TextEncoder().encode(token) });
  const size = parts.reduce(
    (sum, { tag, bytes }) => sum + varintSize(tag) + varintSize(bytes.length) + bytes.length,
    0,
  );
  const message = new Uint8Array(size);
  let at = 0;
  for (const { tag, bytes } of parts) {
    at = writeVarint(message, writeVarint(message, at, tag), bytes.length);
    message.set(bytes, at);
    at += bytes.length;
  }
  return message;
};
