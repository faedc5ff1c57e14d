import type { ExpectedRevision } from '../../kernel/ports/event-store.js';
import type { NewEvent } from '../../kernel/event.js';
import type { Append } from '../append.js';

/** Revision and position of the last event of an append that was recorded. */
export type Placement = { readonly revision: number; readonly position: number };

/** Numbers for the expected revisions that are not numbers; a real one is never negative. */
const NO_STREAM = -1;
const ANY = -2;

const ID_BYTES = 16;
/** Expected revision, number of events, length of the stream name. */
const APPEND_HEAD_BYTES = 8 + 4 + 4;
/** Id, and the lengths of type, metadata and data. */
const EVENT_HEAD_BYTES = ID_BYTES + 4 + 4 + 4;

const expectedNumber = (expected: ExpectedRevision): number => {
  if (expected === 'no-stream') return NO_STREAM;
  return expected === 'any' ? ANY : Number(expected);
};

const expectedOf = (number: number): ExpectedRevision => {
  if (number === NO_STREAM) return 'no-stream';
  return number === ANY ? 'any' : BigInt(number);
};

/** Upper bound of an append's encoded size: UTF-8 needs at most three bytes per UTF-16 code unit. */
const maxBytesOf = ({ stream, events }: Append): number =>
  events.reduce(
    (bytes, event) => bytes + EVENT_HEAD_BYTES + 3 * (event.type.length + event.metadata.length) + event.data.length,
    APPEND_HEAD_BYTES + 3 * stream.length,
  );

const putText = (target: Buffer, at: number, text: string): number => {
  const bytes = target.write(text, at + 4, 'utf8');
  target.writeUInt32LE(bytes, at);
  return at + 4 + bytes;
};

const putEvent = (target: Buffer, start: number, event: NewEvent): number => {
  target.set(event.id, start);
  let at = putText(target, start + ID_BYTES, event.type);
  at = putText(target, at, event.metadata);
  target.writeUInt32LE(event.data.length, at);
  target.set(event.data, at + 4);
  return at + 4 + event.data.length;
};

/**
 * Encodes appends into one block of bytes, which is transferred to the writer thread without a copy: cloning the
 * objects would cost more than inserting them.
 */
export const packAppends = (appends: readonly Append[]): Uint8Array<ArrayBuffer> => {
  const target = Buffer.allocUnsafeSlow(appends.reduce((bytes, append) => bytes + maxBytesOf(append), 4));
  let at = target.writeUInt32LE(appends.length, 0);
  for (const { stream, expected, events } of appends) {
    at = target.writeDoubleLE(expectedNumber(expected), at);
    at = target.writeUInt32LE(events.length, at);
    at = putText(target, at, stream);
    for (const event of events) at = putEvent(target, at, event);
  }
  return target.subarray(0, at);
};

/** Decodes a block of `packAppends`; the ids and data are views of the block. */
export const unpackAppends = (packed: Uint8Array): Append[] => {
  const source = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  let at = 4;
  const bytes = (): Buffer => {
    const start = at + 4;
    at = start + source.readUInt32LE(at);
    return source.subarray(start, at);
  };
  const text = (): string => {
    const start = at + 4;
    at = start + source.readUInt32LE(at);
    return source.toString('utf8', start, at);
  };
  const event = (): NewEvent => {
    const id = source.subarray(at, at + ID_BYTES);
    at += ID_BYTES;
    return { id, type: text(), metadata: text(), data: bytes() };
  };
  return Array.from({ length: source.readUInt32LE(0) }, () => {
    const expected = expectedOf(source.readDoubleLE(at));
    const count = source.readUInt32LE(at + 8);
    at += 12;
    const stream = text();
    return { stream, expected, events: Array.from({ length: count }, event) };
  });
};
