import { create, type JsonObject } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  BlobType_BlobDimensionality as Dimensionality,
  BlobTypeSchema,
  EnumTypeSchema,
  type LiteralType,
  LiteralTypeSchema,
  SchemaType_SchemaColumn_SchemaColumnType as ColumnType,
  SchemaTypeSchema,
  StructuredDatasetTypeSchema,
} from '../../../proto/gen/platformidl/core/types_pb.js';
import { isCastable } from '../../../services/compiler/types/castability.js';
import * as t from '../../../services/compiler/types/types.js';
import { typeText } from '../../../services/compiler/types/type-text.js';
import { timed } from '../../support/costs/timed.js';

const list = t.collectionOf;
const union = (...variants: LiteralType[]) => t.unionOf(variants);
const enumOf = (...values: string[]) =>
  create(LiteralTypeSchema, { type: { case: 'enumType', value: create(EnumTypeSchema, { values }) } });
const blob = (format: string, dimensionality = Dimensionality.SINGLE) =>
  create(LiteralTypeSchema, { type: { case: 'blob', value: create(BlobTypeSchema, { format, dimensionality }) } });
const schema = (...columns: (readonly [string, ColumnType])[]) =>
  create(LiteralTypeSchema, {
    type: {
      case: 'schema',
      value: create(SchemaTypeSchema, { columns: columns.map(([name, type]) => ({ name, type })) }),
    },
  });
const dataset = (format: string, columns: Readonly<Record<string, LiteralType>> = {}) =>
  create(LiteralTypeSchema, {
    type: {
      case: 'structuredDatasetType',
      value: create(StructuredDatasetTypeSchema, {
        format,
        columns: Object.entries(columns).map(([name, literalType]) => ({ name, literalType })),
      }),
    },
  });
/** A type with a tag, as SDKs give the type of a union's variant. */
const tagged = (type: LiteralType, tag: string) => create(LiteralTypeSchema, { type: type.type, structure: { tag } });
/** A struct whose metadata are a JSON schema. */
const struct = (metadata: JsonObject) => create(LiteralTypeSchema, { type: t.STRUCT.type, metadata });

/** A JSON schema of an object; all its properties are required unless `required` says otherwise. */
const object = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required: [...required],
});
const integer = { type: 'integer' };
const text = { type: 'string' };

type Row = readonly [upstream: LiteralType, downstream: LiteralType];

/** Pairs of types where a value of the first is accepted for the second. */
const castable: readonly Row[] = [
  [t.INTEGER, t.INTEGER],
  [t.NONE, t.NONE],
  [list(t.INTEGER), list(t.INTEGER)],
  [list(t.NONE), list(list(t.STRING))],
  [t.mapOf(t.NONE), t.mapOf(t.STRING)],
  [list(enumOf('a')), list(t.STRING)],
  [blob('csv'), blob('csv', Dimensionality.MULTIPART)],
  [blob(''), blob('csv')],
  [blob('csv'), blob('')],
  [schema(['a', ColumnType.INTEGER], ['b', ColumnType.STRING]), schema(['b', ColumnType.STRING])],
  [schema(), schema(['b', ColumnType.STRING])],
  [schema(['b', ColumnType.STRING]), schema()],
  [dataset('Parquet', { a: t.INTEGER }), schema(['a', ColumnType.INTEGER])],
  [dataset(''), schema(['a', ColumnType.INTEGER])],
  [schema(['a', ColumnType.FLOAT]), dataset('', { a: t.FLOAT })],
  [dataset('CSV'), dataset('csv')],
  [dataset('csv'), dataset('')],
  [dataset('', { a: t.INTEGER, b: enumOf('x') }), dataset('', { b: t.STRING })],
  [t.NONE, dataset('csv', { a: t.STRING })],
  [t.INTEGER, union(t.INTEGER, t.STRING)],
  [union(t.INTEGER), t.INTEGER],
  [union(t.INTEGER), union(t.STRING, t.INTEGER)],
  [union(t.INTEGER, t.STRING), union(t.STRING, t.INTEGER, t.NONE)],
  [t.STRING, enumOf('a', 'b')],
  [enumOf('a', 'b'), enumOf('a', 'b')],
  [enumOf('a', 'b'), t.STRING],
  [tagged(t.INTEGER, 'int'), tagged(t.INTEGER, 'int')],
  [t.INTEGER, tagged(t.INTEGER, 'int')],
  [t.STRUCT, struct(object({ a: integer }))],
  [struct(object({ a: integer })), t.STRUCT],
  [struct(object({ a: integer })), struct(object({ a: integer }))],
  [struct(object({ a: integer, b: text })), struct(object({ a: integer }))],
  [struct({ ...object({ a: integer }), additionalProperties: false }), struct(object({ a: integer }))],
  [
    struct({ $ref: '#/definitions/A', definitions: { A: object({ a: integer, b: text }) } }),
    struct(object({ a: integer })),
  ],
  // Equal parts fit, also where they are no JSON schema, or one that the comparison does not know.
  [struct(object({ a: true })), struct(object({ a: true }))],
  [struct(object({ a: true, b: text })), struct(object({ a: true }))],
  [struct({ title: 'A', properties: { a: ['x', null] } }), struct({ properties: { a: ['x', null] }, title: 'A' })],
  [struct({ properties: { a: NaN } }), struct({ properties: { a: NaN } })],
];

/** Pairs of types where a value of the first is refused for the second. */
const notCastable: readonly Row[] = [
  [t.INTEGER, t.FLOAT],
  [t.STRING, t.INTEGER],
  [t.INTEGER, t.NONE],
  [t.NONE, t.INTEGER],
  [list(t.INTEGER), t.mapOf(t.INTEGER)],
  [list(t.INTEGER), list(t.STRING)],
  [t.INTEGER, list(t.INTEGER)],
  [blob('csv'), blob('json')],
  [t.STRING, blob('')],
  [schema(['a', ColumnType.INTEGER]), schema(['a', ColumnType.STRING])],
  [schema(['a', ColumnType.INTEGER]), schema(['b', ColumnType.INTEGER])],
  [dataset('csv'), schema()],
  [schema(), dataset('csv')],
  [dataset('csv'), dataset('parquet')],
  [dataset('', { a: t.INTEGER }), dataset('', { a: t.STRING })],
  [t.STRING, dataset('')],
  [t.BOOLEAN, union(t.INTEGER, t.STRING)],
  [t.STRING, union(t.STRING, enumOf('a'))],
  [union(t.INTEGER, t.BOOLEAN), union(t.INTEGER, t.STRING)],
  [union(t.INTEGER, t.STRING), t.INTEGER],
  [union(), union(t.INTEGER)],
  [t.INTEGER, enumOf('a')],
  [enumOf('a'), enumOf('b')],
  [tagged(t.INTEGER, 'int'), t.INTEGER],
  [tagged(t.INTEGER, 'int'), tagged(t.INTEGER, 'long')],
  [struct(object({ a: integer })), struct(object({ a: text }))],
  [struct(object({ a: integer })), struct(object({ a: integer, b: text }))],
  [struct({ properties: { a: ['x', null] } }), struct({ properties: { a: ['x'] } })],
  [struct({ properties: { a: ['x'] } }), struct({ properties: { a: ['y'] } })],
  [struct({ properties: { a: [{ b: 1 }] } }), struct({ properties: { a: [{ c: 1 }] } })],
  [struct({ properties: { a: [{ b: 1 }] } }), struct({ properties: { a: [[1]] } })],
  [t.BINARY, t.STRUCT],
];

/** The rows with the texts of their types first, for titles. */
const named = (rows: readonly Row[]) => rows.map(([a, b]) => [typeText(a), typeText(b), a, b] as const);

test.each(named(castable))('a value of %s is accepted for the type %s', (_a, _b, upstream, downstream) => {
  expect(isCastable(upstream, downstream)).toBe(true);
});

test.each(named(notCastable))('a value of %s is refused for the type %s', (_a, _b, upstream, downstream) => {
  expect(isCastable(upstream, downstream)).toBe(false);
});

/** Generates types, nested up to four levels. */
const types: fc.Arbitrary<LiteralType> = fc.letrec<{ type: LiteralType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'type' },
    fc.constantFrom(t.INTEGER, t.FLOAT, t.STRING, t.BOOLEAN, t.NONE, t.DATETIME, t.STRUCT),
    fc.constantFrom(blob('csv'), enumOf('a', 'b'), dataset('csv')),
    tie('type').map(t.collectionOf),
    tie('type').map(t.mapOf),
    fc.array(tie('type'), { minLength: 1, maxLength: 3 }).map(t.unionOf),
  ),
})).type;

describe('castability of any types', () => {
  test('accepts a value for its own type', () => {
    fc.assert(fc.property(types, (type) => isCastable(type, type)));
  });

  test('does not depend on the order of the variants of a union', () => {
    fc.assert(
      fc.property(fc.array(types, { minLength: 1, maxLength: 4 }), types, (variants, type) => {
        const [one, other] = [t.unionOf(variants), t.unionOf(variants.toReversed())];
        return isCastable(type, one) === isCastable(type, other) && isCastable(one, type) === isCastable(other, type);
      }),
    );
  });

  test('holds for lists and maps of types that are castable', () => {
    fc.assert(
      fc.property(types, types, (a, b) => {
        fc.pre(isCastable(a, b));
        return isCastable(list(a), list(b)) && isCastable(t.mapOf(a), t.mapOf(b));
      }),
    );
  });
});

describe('a type that is costly to compare', () => {
  const nested = (depth: number): LiteralType =>
    Array.from({ length: depth }).reduce<LiteralType>((inner) => t.unionOf([t.collectionOf(inner), inner]), t.INTEGER);
  const chain = (name: string): JsonObject => ({
    $ref: `#/definitions/${name}0`,
    definitions: Object.fromEntries(
      Array.from({ length: 30_000 }, (_, i) => [
        `${name}${i}`,
        object({ a: { $ref: `#/definitions/${name}${i + 1}` } }),
      ]),
    ),
  });
  const wrapped = (depth: number): LiteralType =>
    Array.from({ length: depth }).reduce<LiteralType>((inner) => t.unionOf([inner]), t.INTEGER);

  test.each([
    ['nested unions of one variant', wrapped(48), wrapped(47)],
    ['nested unions of two variants', nested(30), nested(31)],
    [
      'unions of 5,000 variants',
      t.unionOf(Array.from({ length: 5000 }, (_, i) => enumOf(`a${i}`))),
      t.unionOf(Array.from({ length: 5000 }, (_, i) => enumOf(`b${i}`))),
    ],
    [
      'schemas that contain themselves',
      struct({ $ref: '#/definitions/A', definitions: { A: object({ a: { $ref: '#/definitions/A' } }) } }),
      struct({ $ref: '#/definitions/B', definitions: { B: object({ a: { $ref: '#/definitions/B' } }) } }),
    ],
    ['a chain of 30,000 definitions', struct(chain('A')), struct(chain('B'))],
    [
      'a schema that refers to itself',
      struct({ $ref: '#/definitions/A', definitions: { A: { $ref: '#/definitions/A' } } }),
      struct(object({ a: text })),
    ],
  ])(
    'is compared within a second of processor time, and its text is shorter than 100,000 characters: %s',
    (_, upstream, downstream) => {
      const [answer, spentMs] = timed(() => isCastable(upstream, downstream));
      expect(typeof answer).toBe('boolean');
      expect(spentMs).toBeLessThan(1000);
      expect(typeText(upstream).length).toBeLessThan(100_000);
    },
  );
});
