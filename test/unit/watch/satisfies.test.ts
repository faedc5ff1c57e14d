import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { satisfies } from '../../../projections/query/filters/satisfies.js';
import {
  type Collection,
  type Condition,
  type FieldValue,
  pairsText,
} from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';

const collection: Collection = {
  name: 'tested',
  version: 1,
  fields: { text: 'text', number: 'integer', pairs: 'pairs', at: 'integer' },
  indexes: [['at']],
};

const TEXTS = ['', 'a', 'ab', 'aab', 'b%', 'a_b', 'Ä', '\u{1F600}', '\uFFFD', null];
const NUMBERS = [-1, 0, 7, null];
const PAIRS = [null, pairsText([['team', 'growth']]), pairsText([['team', ''], ['tier', 'growth']])]; // oxfmt-ignore
const rows: readonly Readonly<Record<string, FieldValue>>[] = TEXTS.flatMap((text) =>
  NUMBERS.flatMap((number) => PAIRS.map((pairs) => ({ text, number, pairs }))),
).map((row, at) => ({ ...row, at }));

const COMPARISONS = ['=', '<>', '<', '<=', '>', '>='] as const;
const pair = (key: string, value: string): Condition => ({
  field: 'pairs',
  is: 'has pair',
  where: [
    { field: 'key', is: '=', value: key },
    { field: 'value', is: '=', value },
  ],
});
/** Each is compared with all rows, in memory and by the store. */
const conditions: readonly Condition[] = [
  ...COMPARISONS.flatMap((is) => TEXTS.map((value): Condition => ({ field: 'text', is, value }))),
  ...COMPARISONS.flatMap((is) => NUMBERS.map((value): Condition => ({ field: 'number', is, value }))),
  ...(['in', 'not in'] as const).map((is): Condition => ({ field: 'text', is, values: ['a', 'Ä'] })),
  ...['a', '%', 'Ä'].map((value): Condition => ({ field: 'text', is: 'contains', value })),
  ...['a%', '%b', '_', '%a%b%', 'a\\_b', '%\\%', '', '%', 'a_'].flatMap((pattern): Condition[] => [
    { field: 'text', is: 'like', pattern },
    { field: 'text', is: 'not like', pattern },
  ]),
  pair('team', 'growth'),
  pair('team', ''),
  pair('tier', 'growth'),
];

describe('a condition on the fields of a document', () => {
  const store = sqliteReadStore({ directory: undefined, mode: 'read-write' });

  beforeAll(async () => {
    await store.prepare([collection]);
    const documents = rows.map((fields, at) => ({
      collection,
      document: { key: String(at), position: 1n, fields, response: Buffer.from(String(at)) },
    }));
    await store.write({ documents, checkpoints: [] });
  });
  afterAll(() => store.close());

  it.each(conditions)('$field $is $value$values$pattern is satisfied as in the store', async (condition) => {
    const query = { where: [condition], orderBy: { field: 'at', direction: 'ascending' as const }, limit: 1_000 };
    const { elements } = await store.find(collection, query);
    const expected = elements.map((each) => Number(Buffer.from(each).toString()));
    expect(rows.flatMap((fields, at) => (satisfies(fields, condition) ? [at] : []))).toEqual(expected);
  });
});
