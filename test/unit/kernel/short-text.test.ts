import { describe, expect, it } from 'vitest';

import { MAX_SHORT_BYTES, shortAsciiAt } from '../../../services/kernel/encoding/short-text.js';
import { textAt } from '../../../services/kernel/encoding/wire-cursor.js';

const encoder = new TextEncoder();

/** Decodes a text that has a byte before it and one after it, as in a message. */
const decoded = (text: string): string => {
  const bytes = encoder.encode(text);
  const message = Uint8Array.of(0x61, ...bytes, 0x62);
  return textAt(message, 1, 1 + bytes.length);
};

describe('texts in messages', () => {
  it('are decoded as they are, also when there are more texts than the cache keeps, and when they come again', () => {
    const texts = Array.from({ length: 20_000 }, (_, index) => `n${index}-${'x'.repeat(index % 40)}`);
    for (const text of [...texts, ...texts.toReversed()]) if (decoded(text) !== text) expect(decoded(text)).toBe(text);
  });

  it('are decoded to the same text the second time', () => {
    const bytes = encoder.encode('flytesnacks');
    expect(shortAsciiAt(bytes, 0, bytes.length)).toBe('flytesnacks');
    expect(shortAsciiAt(bytes, 0, 5)).toBe('flyte');
    expect(shortAsciiAt(bytes, 0, bytes.length)).toBe('flytesnacks');
  });

  it.each(['ä', 'naïve', '\u007f', '\u0080', '日本', '\0', 'a\0b', '😀', ''])('are decoded: %j', (text) => {
    expect(decoded(text)).toBe(text);
  });

  it.each([MAX_SHORT_BYTES - 1, MAX_SHORT_BYTES, MAX_SHORT_BYTES + 1])('of %i bytes are decoded', (length) => {
    const text = 'y'.repeat(length);
    expect(decoded(text)).toBe(text);
  });

  it('that are no UTF-8 are refused, with the offset at which the text begins', () => {
    expect(() => textAt(Uint8Array.of(0x61, 0xff, 0xfe), 1, 3)).toThrow(
      expect.objectContaining({ message: 'is not valid UTF-8', at: 1 }),
    );
  });
});
