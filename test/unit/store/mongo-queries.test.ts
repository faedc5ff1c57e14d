import type { Db } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { Collection } from '../../../projections/runtime/read-store.js';
import { assertUsable, timeoutsFor } from '../../../projections/store/mongo/connection.js';
import { joined } from '../../../projections/store/mongo/conditions.js';
import { readStoreLocation } from '../../../projections/store/mongo/location.js';
import { likeExpression } from '../../../projections/store/mongo/regular-expressions.js';
import { values } from '../../../projections/store/mongo/values.js';
import { QueryTooSlow } from '../../../services/kernel/fault.js';

describe('the location of views', () => {
  it.each([
    ['sqlite:', { kind: 'sqlite' }],
    ['mongodb://db:27017', { database: 'flightlog', shown: 'mongodb://db:27017/flightlog' }],
    ['mongodb://u:p%40@a,b:1/views?replicaSet=rs0', { database: 'views', shown: 'mongodb://a,b:1/views' }],
    ['mongodb+srv://u:p@cluster.example.com/?w=majority', { shown: 'mongodb+srv://cluster.example.com/flightlog' }],
  ])('may be %s', (text, expected) => {
    expect(readStoreLocation(text)).toMatchObject(expected);
  });

  it.each(['', 'sqlite', 'postgres://x', 'mongodb://', 'mongodb://h/a.b', `mongodb://h/${'a'.repeat(51)}`])(
    'is refused: %j',
    (text) => expect(readStoreLocation(text)).toMatch(/^must /u),
  );
});

describe('the time limits of a connection', () => {
  it('are those of its connection string, whose option names have any case, and otherwise five seconds', () => {
    expect(timeoutsFor('mongodb://db/?connectTimeoutMS=100&serverselectiontimeoutms=200')).toEqual({
      waitQueueTimeoutMS: 5_000,
    });
  });
});

// The wire version of MongoDB 6.0 is 17.
describe('a MongoDB server', () => {
  it('without a replica set is refused with the command that makes one', () => {
    expect(() => assertUsable({ maxWireVersion: 25 }, 'here')).toThrow(
      /no replica set.*--replSet rs0.*rs\.initiate\(\)/u,
    );
  });

  it('that is too old is refused', () => {
    expect(() => assertUsable({ maxWireVersion: 16, setName: 'rs0' }, 'here')).toThrow(/older than MongoDB 6\.0/u);
  });

  it.each([{ setName: 'rs0' }, { msg: 'isdbgrid' }])('is accepted as %j', (hello) => {
    expect(() => assertUsable({ maxWireVersion: 17, ...hello }, 'here')).not.toThrow();
  });
});

describe('a LIKE pattern', () => {
  it('becomes a regular expression that never backtracks', () => {
    expect(likeExpression('a%b_%c.')).toBe(String.raw`^a(?>[\s\S]*?b[\s\S])[\s\S]*c\.(?![\s\S])`);
    expect(likeExpression('plain')).toBe(String.raw`^plain(?![\s\S])`);
  });

  it('that is longer than a server accepts is refused as QueryTooSlow', () => {
    expect(() => likeExpression('x'.repeat(40_000))).toThrow(QueryTooSlow);
  });
});

describe('filters that all hold', () => {
  it('are one condition of their field when their operators differ, and separate ones otherwise', () => {
    expect(joined([{ a: { $gte: 1 } }, { a: { $lt: 3 } }, { b: { $eq: 1 } }])).toEqual({
      a: { $gte: 1, $lt: 3 },
      b: { $eq: 1 },
    });
    const clash = joined([{ a: { $eq: 1 } }, { a: { $eq: 2 } }]);
    expect(clash).toEqual({ $and: [{ a: { $eq: 1 } }, { a: { $eq: 2 } }] });
    expect(joined([clash, { b: { $eq: 3 } }])).toEqual({ $and: [{ a: { $eq: 1 }, b: { $eq: 3 } }, { a: { $eq: 2 } }] });
  });
});

describe('distinct values', () => {
  const sizes: Collection = { name: 'sizes', version: 1, fields: { size: 'integer' }, indexes: [['size']] };
  const orderBy = { field: 'size', direction: 'ascending' } as const;
  /** A database that has every whole number, and answers each query in time. */
  const endless = (): Db => {
    let size = 0;
    const rows = { toArray: () => Promise.resolve([{ f: { size: (size += 1) } }]) };
    return { collection: () => ({ find: () => rows }) } as unknown as Db;
  };

  it('end at the time limit of all their queries together', async () => {
    const reader = { db: endless(), build: 0, until: performance.now() + 5 };
    const far = { where: [], orderBy, offset: 1_000_000, limit: 1 };
    await expect(values(reader, sizes, far)).rejects.toBeInstanceOf(QueryTooSlow);
    const page = values({ ...reader, until: Infinity }, sizes, { where: [], orderBy, offset: 2, limit: 1 });
    expect(await page).toMatchObject({ hasMore: true });
  });
});
