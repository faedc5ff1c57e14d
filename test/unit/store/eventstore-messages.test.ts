import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { framesOf } from '../../../services/kernel/encoding/grpc-frame.js';
import { messageSplitter } from '../../../services/store/eventstore/wire/messages.js';

const messages = fc.array(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  { maxLength: 20 },
);

describe('messages of a call to an event store', () => {
  it('are whole again, in order, wherever the bytes were cut', () => {
    fc.assert(
      fc.property(messages, fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }), (sent, sizes) => {
        const bytes = framesOf(sent);
        const split = messageSplitter();
        const found: Buffer[] = [];
        for (let [at, turn] = [0, 0]; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          found.push(...split(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(found).toEqual(sent);
      }),
    );
  });

  it('are refused where they are compressed, or larger than any event', () => {
    const compressed = framesOf([Buffer.from('a')]);
    compressed[0] = 1; // the flag of gRPC for a compressed message, before the four bytes of its length
    expect(() => messageSplitter()(compressed)).toThrow('compressed');
    const large = Buffer.alloc(5);
    large.writeUInt32BE(2 ** 30, 1); // the length of the message
    expect(() => messageSplitter()(large)).toThrow('larger than');
  });
});
