import { readFileSync, writeFileSync } from 'node:fs';
import { framesOf, HEAD_BYTES } from '../../services/kernel/encoding/grpc-frame.js';

/** Writes requests as gRPC frames to a file for the load generators. */
export const writeFrames = (file: string, requests: readonly Uint8Array[]): void =>
  writeFileSync(file, framesOf(requests));

/** Reads the gRPC frames of a file, each a message with its head. */
export const readFrames = (file: string): Buffer[] => {
  const bytes = readFileSync(file);
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + HEAD_BYTES + bytes.readUInt32BE(at + 1);
    frames.push(bytes.subarray(at, end));
    at = end;
  }
  return frames;
};
