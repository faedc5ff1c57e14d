import { describe, expect, it } from 'vitest';
import { beginningOf, clip, endsOf } from '../../../projections/query/clip.js';
import type { Collection } from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';

/** A character of two UTF-16 code units. */
const FACE = '\u{1f600}';

const collection: Collection = { name: 'texts', version: 1, fields: { text: 'text' }, indexes: [] };

/** Writes a text as a field of a document, and reads it again. */
const throughStore = async (text: string): Promise<unknown> => {
  const store = sqliteReadStore({ directory: undefined, mode: 'read-write' });
  await store.prepare([collection]);
  const document = { key: 'k', position: 1n, fields: { text }, response: new Uint8Array() };
  await store.write({ documents: [{ collection, document }], checkpoints: [] });
  const found = await store.get(collection, 'k');
  await store.close();
  return found?.fields['text'];
};

describe('a shortened text', () => {
  it.each([
    ['is cut before a character that would be cut in half', beginningOf(`ab${FACE}c`, 3), 'ab'],
    ['is cut after a character', beginningOf(`ab${FACE}c`, 4), `ab${FACE}`],
    [
      'of more than 100 bytes is cut before a character that would be cut',
      clip(`${'a'.repeat(98)}${FACE}`),
      'a'.repeat(98),
    ],
    [
      'keeps both ends of an error',
      endsOf(`${'a'.repeat(999)}${FACE}${'b'.repeat(500)}${FACE}${'c'.repeat(999)}`),
      `${'a'.repeat(999)}…${'c'.repeat(999)}`,
    ],
  ])('%s, and a store keeps it as it is', async (_, text, expected) => {
    expect(text).toBe(expected);
    expect(await throughStore(text)).toBe(expected);
  });
});
