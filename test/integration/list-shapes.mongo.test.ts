import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collection, Condition, FieldValue, Query } from '../../projections/runtime/read-store.js';
import { type MongoReadStore, mongoReadStore } from '../../projections/store/mongo/mongo-read-store.js';
import { models } from '../../services/main/models.js';
import { countsWhatItExamines, dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';

const collections = models.map(({ collection }) => collection);

/** An index that a read model declares; its last field is the sort key of the queries. */
type Shape = { readonly collection: Collection; readonly fields: readonly string[] };

/** A value of the type of a field. */
const valueOf = ({ fields }: Collection, field: string): FieldValue => (fields[field] === 'integer' ? 1 : 'a');

/**
 * The conditions of a shape: one value for every field before the last; `isOfTwo` takes two of a field's listed values.
 */
const conditionsOf = ({ collection, fields }: Shape, isOfTwo: boolean): readonly Condition[] =>
  fields.slice(0, -1).map((field): Condition => {
    const values = collection.values?.[field]?.slice(0, 2);
    return isOfTwo && values ? { field, is: 'in', values } : { field, is: '=', value: valueOf(collection, field) };
  });

/** Queries in both orders: by one value of each field, by two, and by a range of the sort key. */
const queriesOf = (shape: Shape): readonly Query[] => {
  const field = shape.fields.at(-1) ?? '';
  const value = valueOf(shape.collection, field);
  const range: Condition = { field, is: '>=', value };
  return (['ascending', 'descending'] as const).flatMap((direction) =>
    [conditionsOf(shape, false), conditionsOf(shape, true), [...conditionsOf(shape, false), range]].map(
      (where): Query => ({ where, orderBy: { field, direction }, limit: 25 }),
    ),
  );
};

const SHAPES = collections.flatMap((collection) => collection.indexes.map((fields): Shape => ({ collection, fields })));

describe.skipIf(mongoUrl === undefined)('queries with the fields of an index that a read model declares', () => {
  const location = newMongoLocation();
  let store: MongoReadStore;
  beforeAll(async () => {
    store = await mongoReadStore({ location, logId: 'l', queryLimitMs: 60_000 });
    await store.prepare(collections);
  }, 120_000);
  afterAll(async () => {
    await store.close();
    await dropDatabase(location);
  });

  it.each(SHAPES.map((shape) => [`${shape.collection.name}: ${shape.fields.join(', ')}`, shape] as const))(
    'are answered from an index: %s',
    async (_, shape) => {
      for (const query of queriesOf(shape)) {
        const explained = await store.explain(shape.collection, query, 'find');
        const stages = explained.flatMap((each) => each.stages);
        expect(explained.length).toBeGreaterThan(0);
        expect(stages).toContain('IXSCAN');
        expect(stages).not.toContain('COLLSCAN');
        if (countsWhatItExamines) expect(stages).not.toContain('SORT');
      }
    },
    60_000,
  );
});
