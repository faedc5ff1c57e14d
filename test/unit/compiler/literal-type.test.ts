import { create, equals, type JsonObject } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';

import { type Literal, LiteralMapSchema, LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { literalMapProblem } from '../../../services/compiler/types/literal-map.js';
import { typeOfLiteral } from '../../../services/compiler/types/literal-type.js';
import * as t from '../../../services/compiler/types/types.js';
import { typeText } from '../../../services/compiler/types/type-text.js';

const primitive = (value: { case: 'integer'; value: bigint } | { case: 'stringValue'; value: string }): Literal =>
  create(LiteralSchema, {
    value: { case: 'scalar', value: { value: { case: 'primitive', value: { value } } } },
  });
const int = primitive({ case: 'integer', value: 1n });
const str = primitive({ case: 'stringValue', value: 'x' });
const datetime = (seconds: bigint, nanos = 0): Literal =>
  create(LiteralSchema, {
    value: {
      case: 'scalar',
      value: { value: { case: 'primitive', value: { value: { case: 'datetime', value: { seconds, nanos } } } } },
    },
  });
const list = (...literals: Literal[]): Literal =>
  create(LiteralSchema, { value: { case: 'collection', value: { literals } } });
const map = (literals: Record<string, Literal>): Literal =>
  create(LiteralSchema, { value: { case: 'map', value: { literals } } });
/** A literal of a union, with the type of its variant. */
const unionOf = (value: Literal, type: LiteralType): Literal =>
  create(LiteralSchema, {
    value: { case: 'scalar', value: { value: { case: 'union', value: { value, type } } } },
  });
const binary = (tag: string): Literal =>
  create(LiteralSchema, { value: { case: 'scalar', value: { value: { case: 'binary', value: { tag } } } } });
/** A literal whose value is stored elsewhere, with the type that its writer has noted. */
const offloaded = create(LiteralSchema, {
  value: { case: 'offloadedMetadata', value: { uri: 's3://b/k', inferredType: t.collectionOf(t.STRING) } },
});
const empty = create(LiteralSchema);
const struct = (metadata: JsonObject): LiteralType =>
  create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.STRUCT }, metadata });

/** A literal and the type that it has. */
const rows: readonly (readonly [string, Literal, LiteralType])[] = [
  ['an integer', int, t.INTEGER],
  ['msgpack', binary('msgpack'), t.STRUCT],
  ['other bytes', binary('x'), t.BINARY],
  ['an empty list', list(), t.collectionOf(t.NONE)],
  ['a list', list(int, int), t.collectionOf(t.INTEGER)],
  ['a list of two kinds', list(str, int), t.collectionOf(t.unionOf([t.INTEGER, t.STRING]))],
  ['a list of two kinds in another order', list(int, str, int), t.collectionOf(t.unionOf([t.INTEGER, t.STRING]))],
  ['a list with an empty list in it', list(list(), list(int)), t.collectionOf(t.collectionOf(t.INTEGER))],
  ['empty lists only', list(list(), list()), t.collectionOf(t.collectionOf(t.NONE))],
  [
    'lists of unions',
    list(list(unionOf(int, t.INTEGER)), list(unionOf(str, t.STRING))),
    t.collectionOf(t.collectionOf(t.unionOf([t.INTEGER, t.STRING]))),
  ],
  [
    'a list of one type, written with its metadata in two orders',
    list(unionOf(str, struct({ a: 1, b: 2 })), unionOf(str, struct({ b: 2, a: 1 }))),
    t.collectionOf(t.unionOf([struct({ a: 1, b: 2 })])),
  ],
  ['a map', map({ a: int }), t.mapOf(t.INTEGER)],
  ['a union', unionOf(int, t.INTEGER), t.unionOf([t.INTEGER])],
  ['a literal that is stored elsewhere', offloaded, t.collectionOf(t.STRING)],
];

test.each(rows)('%s has its type', (_, literal, type) => {
  const found = typeOfLiteral(literal)!;
  expect(typeText(found)).toBe(typeText(type));
  expect(equals(LiteralTypeSchema, found, type)).toBe(true);
});

test('a list has a type also when JSON cannot represent the metadata of its types', () => {
  const [type, other] = [struct({ default: NaN }), struct({ default: Infinity })];
  expect(typeText(typeOfLiteral(list(unionOf(str, type), unionOf(int, type)))!)).toBe('list<union<struct>>');
  const many = typeOfLiteral(list(unionOf(str, type), unionOf(int, other)))!;
  expect(typeText(many)).toBe('list<union<union<struct>, union<struct>>>');
});

test.each([
  ['a literal without a value', empty],
  ['a list with a literal without a value', list(int, empty)],
  ['a map with a literal without a value', map({ a: empty })],
])('%s has no type', (_, literal) => {
  expect(typeOfLiteral(literal)).toBeUndefined();
});

describe('a map of literals', () => {
  const problemOf = (literals: Record<string, Literal>) =>
    literalMapProblem('inputs', create(LiteralMapSchema, { literals }));

  test.each([
    ['an empty name', { '': int }, 'missing key in inputs'],
    ['a literal without a value', { a: empty }, 'missing valid literal in inputs a'],
    ['a datetime after the year 9999', { a: datetime(253_402_300_800n) }, 'invalid datetime in inputs a'],
    ['a datetime before the year 1', { a: datetime(-62_135_596_801n) }, 'invalid datetime in inputs a'],
    ['a datetime with too many nanoseconds', { a: datetime(0n, 1_000_000_000) }, 'invalid datetime in inputs a'],
    ['a second datetime that is wrong', { a: datetime(0n), b: list(datetime(1n), datetime(1n, -1)) }, 'inputs b'],
    ['a wrong datetime in a union', { a: unionOf(datetime(0n, -1), t.DATETIME) }, 'inputs a'],
  ])('is refused with %s', (_, literals, text) => {
    expect(problemOf(literals)).toContain(text);
  });

  test('is accepted with values, datetimes of all years and literals that are stored elsewhere', () => {
    expect(problemOf({ a: int, b: offloaded, c: datetime(-62_135_596_800n), d: datetime(253_402_300_799n) })).toBe(
      undefined,
    );
    expect(literalMapProblem('inputs', undefined)).toBeUndefined();
  });
});
