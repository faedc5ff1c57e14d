/** A byte of a varint holds seven bits of the number. */
const BASE = 0x80;

/** Computes the size of an integer from 0 to 2^53 as a varint, in bytes. */
export const varintBytes = (value: number): number => {
  let bytes = 1;
  for (let rest = value; rest >= BASE; rest = Math.floor(rest / BASE)) bytes += 1;
  return bytes;
};

/** Writes a protobuf message from beginning to end into a buffer whose size is known in advance. */
export class WireWriter {
  readonly bytes: Buffer;
  #at = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  /** Writes a tag of one byte, for field numbers up to 15. */
  tag(tag: number): this {
    this.bytes[this.#at] = tag;
    this.#at += 1;
    return this;
  }

  varint(value: number): this {
    let rest = value;
    for (; rest >= BASE; rest = Math.floor(rest / BASE)) this.tag((rest & 0x7f) | 0x80);
    return this.tag(rest);
  }

  raw(bytes: Uint8Array): this {
    this.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  /** Writes a text after its length in bytes. */
  text(text: string, byteLength: number): this {
    this.varint(byteLength);
    this.bytes.write(text, this.#at, 'utf8');
    this.#at += byteLength;
    return this;
  }
}

/** Computes the size of a length-delimited field: tag, length, content. */
export const delimitedBytes = (length: number): number => 1 + varintBytes(length) + length;
