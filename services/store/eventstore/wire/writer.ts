const LAST_SEVEN_BITS = 0x80;

/** The number of bytes that a whole number from 0 up to 2^53 takes as a varint. */
export const varintBytes = (value: number): number => {
  let bytes = 1;
  for (let rest = value; rest >= LAST_SEVEN_BITS; rest = Math.floor(rest / LAST_SEVEN_BITS)) bytes += 1;
  return bytes;
};

/** Fills a message of protobuf from its beginning to its end; its size is known before. */
export class WireWriter {
  readonly bytes: Buffer;
  #at = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  /** A tag of one byte: fields up to 15. */
  tag(tag: number): this {
    this.bytes[this.#at] = tag;
    this.#at += 1;
    return this;
  }

  varint(value: number): this {
    let rest = value;
    for (; rest >= LAST_SEVEN_BITS; rest = Math.floor(rest / LAST_SEVEN_BITS)) this.tag((rest & 0x7f) | 0x80);
    return this.tag(rest);
  }

  raw(bytes: Uint8Array): this {
    this.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  /** Text after its length, which is known. */
  text(text: string, byteLength: number): this {
    this.varint(byteLength);
    this.bytes.write(text, this.#at, 'utf8');
    this.#at += byteLength;
    return this;
  }
}
