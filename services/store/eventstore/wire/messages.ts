/** A message is preceded by a byte that is 1 when it is compressed, and its length in four bytes. */
const HEADER_BYTES = 5;

/** Large enough for every event that a server may have written. */
const MAX_RECEIVED_BYTES = 17 * 1024 * 1024;

/** Puts messages, each with its header, into one buffer. */
export const framed = (messages: readonly Buffer[]): Buffer =>
  Buffer.concat(
    messages.flatMap((message) => {
      const header = Buffer.alloc(HEADER_BYTES);
      header.writeUInt32BE(message.length, 1);
      return [header, message];
    }),
  );

/** @throws {Error} when the message is compressed or too large. */
const lengthAt = (bytes: Buffer, at: number): number => {
  if (bytes[at] !== 0) throw new Error('a received message is compressed, which was not asked for');
  const length = bytes.readUInt32BE(at + 1);
  if (length > MAX_RECEIVED_BYTES) throw new Error(`a received message is larger than ${MAX_RECEIVED_BYTES} bytes`);
  return length;
};

/** Makes a function that takes the received bytes piece by piece, and returns the messages that each piece completes. */
export const messageSplitter = (): ((piece: Buffer) => Buffer[]) => {
  let pieces: Buffer[] = [];
  let length = 0;
  let needed = HEADER_BYTES;

  return (piece) => {
    pieces.push(piece);
    length += piece.length;
    if (length < needed) return [];
    const bytes = pieces.length === 1 ? piece : Buffer.concat(pieces, length);
    const messages: Buffer[] = [];
    let at = 0;
    for (needed = HEADER_BYTES; length - at >= HEADER_BYTES; needed = HEADER_BYTES) {
      const end = at + HEADER_BYTES + lengthAt(bytes, at);
      needed = end - at;
      if (end > length) break;
      messages.push(bytes.subarray(at + HEADER_BYTES, end));
      at = end;
    }
    pieces = at < length ? [bytes.subarray(at)] : [];
    length -= at;
    return messages;
  };
};
