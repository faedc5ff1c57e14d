import { Binary, type Db } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { loaded } from '../../../projections/store/mongo/large-documents.js';

/** A database in which a document has been replaced by this row, and the chunks of its earlier version are gone. */
const withReplaced = (row: unknown): Db => {
  const chunks = { find: () => ({ toArray: () => Promise.resolve([]) }) };
  const rows = { findOne: () => Promise.resolve(row) };
  return { collection: (name: string) => (name === 'parts' ? chunks : rows) } as unknown as Db;
};

describe('a large document that is replaced while its chunks are read', () => {
  it('is the version that its bytes are of, with the position of that version', async () => {
    const read = { _id: 'a', position: 1n, f: { size: 1 }, element: new Binary(), large: { element: 9_000_000 } };
    const replacement = { _id: 'a', position: 2n, f: { size: 2 }, element: new Binary(Uint8Array.of(7)) };
    const { row, bytes } = await loaded(withReplaced(replacement), 0, 'things.v1', read);
    expect(row.position).toBe(2n);
    expect([...bytes.element]).toEqual([7]);
  });
});
