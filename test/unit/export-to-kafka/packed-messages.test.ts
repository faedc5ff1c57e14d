import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outgoing } from '../../../services/reactors/export-to-kafka/message.js';
import { packedMessages, unpacked } from '../../../services/reactors/export-to-kafka/packed-messages.js';

const text = fc.string({ unit: 'grapheme', maxLength: 8 });
const bytes = fc.uint8Array({ maxLength: 30 }).map((each) => Buffer.from(each));

const message: fc.Arbitrary<Outgoing> = fc.record({
  category: text,
  key: text.map((each) => Buffer.from(each)),
  value: bytes,
  id: text,
  type: text,
  contentType: text,
  position: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  recordedAtMs: fc.nat(),
});

describe('messages that are handed to another thread', () => {
  it('are equal there, and the memory of their values is transferred, not copied', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
        const page = packedMessages(messages);
        const there = structuredClone(page, { transfer: [page.values.buffer] });
        expect(page.values.length).toBe(0);
        const found = unpacked(there);
        expect(found).toEqual(messages);
        for (const { value } of found) expect(value.buffer).toBe(there.values.buffer);
      }),
    );
  });
});
