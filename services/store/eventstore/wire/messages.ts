import { HEAD_BYTES } from '../../../kernel/encoding/grpc-frame.js';

/** The maximum size of a received message: large enough for every event that a server may have written. */
export const MAX_RECEIVED_BYTES = 17 * 1024 * 1024;

/** @throws {Error} when the message is compressed or too large. */
const lengthAt = (bytes: Buffer, at: number): number => {
  if (bytes[at] !== 0) throw new Error('a received message is compressed, which was not asked for');
  const length = bytes.readUInt32BE(at + 1);
  if (length > MAX_RECEIVED_BYTES) throw new Error(`a received message is larger than ${MAX_RECEIVED_BYTES} bytes`);
  return length;
};

/**
 * Makes a function that takes the received bytes piece by piece, and returns the messages that each piece completes.
 */
export const messageSplitter = (): ((piece: Buffer) => Buffer[]) => {
  let pieces: Buffer[] = [];
  let length = 0;
  let needed = HEAD_BYTES;

  return (piece) => {
    pieces.push(piece);
    length += piece.length;
    if (length < needed) return [];
    const bytes = pieces.length === 1 ? piece : Buffer.concat(pieces, length);
    const messages: Buffer[] = [];
    let at = 0;
    for (needed = HEAD_BYTES; length - at >= HEAD_BYTES; needed = HEAD_BYTES) {
      const end = at + HEAD_BYTES + lengthAt(bytes, at);
      needed = end - at;
      if (end > length) break;
      messages.push(bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    pieces = at < length ? [bytes.subarray(at)] : [];
    length -= at;
    return messages;
  };
};
