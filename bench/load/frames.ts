import { readFileSync } from 'node:fs';

/** The size of the prefix of a gRPC message: flag and length. */
export const PREFIX_BYTES = 5;

/** Reads prepared requests, each preceded by its length in four bytes (big-endian), and adds the gRPC prefix to each. */
export const readFrames = (file: string): Buffer[] => {
  const bytes = readFileSync(file);
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const frame = Buffer.alloc(PREFIX_BYTES + length);
    frame.writeUInt32BE(length, 1);
    bytes.copy(frame, PREFIX_BYTES, at + 4, at + 4 + length);
    frames.push(frame);
    at += 4 + length;
  }
  return frames;
};

/** The value below which a share of the sorted values is. */
export const percentile = (sorted: Float64Array, share: number): number =>
  sorted[Math.floor(sorted.length * share)] ?? 0;
