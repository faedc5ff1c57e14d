import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { jsonOf } from '../../../interface/values/json-of.js';
import { literalOf } from '../../../interface/values/literal-of.js';
import { jsonText, displayValueOf } from '../../../console/values/display-value.js';
import { typeInWords } from '../../../interface/values/type-text.js';
import { ExecutionCreateRequestSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { type Literal, LiteralSchema, type ScalarSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { fixtureFolders } from '../../support/requests/fixtures.js';

const typeOf = (type: MessageInitShape<typeof LiteralTypeSchema>['type'] & object): LiteralType =>
  create(LiteralTypeSchema, { type });

const simple = (value: SimpleType): LiteralType => typeOf({ case: 'simple', value });

const [INTEGER, FLOAT, TEXT, BOOLEAN] = [
  SimpleType.INTEGER,
  SimpleType.FLOAT,
  SimpleType.STRING,
  SimpleType.BOOLEAN,
].map(simple) as [LiteralType, LiteralType, LiteralType, LiteralType];

const bytesOf = (literal: Literal): Uint8Array => toBinary(LiteralSchema, literal);

/** The literal that a form sends when its user types again the value that it shows for a literal. */
const typedAgain = (type: LiteralType, literal: Literal): Literal =>
  literalOf(type, JSON.parse(JSON.stringify(jsonOf(literal))));

/** For each kind of value: its type, and values as a form gives them. */
const VALUES: readonly (readonly [string, LiteralType, fc.Arbitrary<unknown>])[] = [
  ['whole numbers of 64 bits', INTEGER, fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(String)],
  ['numbers', FLOAT, fc.double().map((value) => (Number.isFinite(value) ? value + 0 : String(value)))],
  ['texts', TEXT, fc.string({ unit: 'grapheme' })],
  ['booleans', BOOLEAN, fc.boolean()],
  ['lists', typeOf({ case: 'collectionType', value: INTEGER }), fc.array(fc.integer())],
  ['maps', typeOf({ case: 'mapValueType', value: TEXT }), fc.dictionary(fc.string({ minLength: 1 }), fc.string())],
  ['choices', typeOf({ case: 'enumType', value: { values: ['red', 'green'] } }), fc.constantFrom('red', 'green')],
  ['files', typeOf({ case: 'blob', value: { format: 'csv' } }), fc.webUrl()],
  ['datasets', typeOf({ case: 'structuredDatasetType', value: { format: 'parquet' } }), fc.webUrl()],
  [
    'times',
    simple(SimpleType.DATETIME),
    fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-01-01') }).map((date) => date.toISOString()),
  ],
  [
    'times to the nanosecond',
    simple(SimpleType.DATETIME),
    fc.nat(999_999_999).map((nanos) => `2026-03-02T09:58:16.${String(nanos).padStart(9, '0')}Z`),
  ],
  [
    'durations',
    simple(SimpleType.DURATION),
    fc
      .tuple(fc.bigInt(0n, 315_575_999_999n), fc.nat(999_999_999))
      .map(([seconds, nanos]) => `${seconds}.${String(nanos).padStart(9, '0')}s`),
  ],
  ['structs', simple(SimpleType.STRUCT), fc.dictionary(fc.string({ minLength: 1 }), fc.string())],
];

const scalarOf = (value: MessageInitShape<typeof ScalarSchema>['value'] & object): Literal =>
  fromBinary(LiteralSchema, bytesOf(create(LiteralSchema, { value: { case: 'scalar', value: { value } } })));

describe('a literal from a server', () => {
  const binary = (tag: string, value: Uint8Array): Literal => scalarOf({ case: 'binary', value: { tag, value } });

  it('that is a struct is shown with its members, and a struct that is written has them', () => {
    const members = { a: 1, b: { c: [1, 'x', null] } };
    const struct = scalarOf({ case: 'generic', value: members });
    expect(jsonOf(struct)).toEqual(members);
    expect(displayValueOf(struct)).toMatchObject({ kind: 'data', data: members });
    expect(bytesOf(literalOf(simple(SimpleType.STRUCT), members))).toEqual(bytesOf(struct));
  });

  it('that is binary is base64, however large', () => {
    expect(jsonOf(binary('', new Uint8Array(300_000)))).toBe('A'.repeat(400_000));
  });

  it('that is MessagePack is its data with exact numbers, and base64 where it is not valid', () => {
    const data = { exact: 2n ** 63n - 1n, small: 1n, bytes: Uint8Array.of(1, 2), none: NaN };
    expect(jsonOf(binary('msgpack', encode(data, { useBigInt64: true })))).toEqual({
      ...{ exact: '9223372036854775807', small: 1, bytes: 'AQI=', none: 'NaN' },
    });
    expect(jsonOf(binary('msgpack', Uint8Array.of(0xc1 /* no type of MessagePack */)))).toBe('wQ==');
  });
});

describe('the values of a form', () => {
  it.each(VALUES)('of %s give the same literal when the value shown is typed again', (_name, type, values) => {
    fc.assert(
      fc.property(values, (value) => {
        const literal = literalOf(type, value);
        expect(bytesOf(typedAgain(type, literal))).toEqual(bytesOf(literal));
      }),
    );
  });

  it.each([
    ['a fraction for a whole number', INTEGER, '1.5', 'write a whole number'],
    ['a number that 64 bits do not hold', INTEGER, String(2n ** 63n), 'write a whole number from -2^63 to 2^63 - 1'],
    ['a number that may have been rounded', INTEGER, 2 ** 53, 'write a whole number beyond 2^53 - 1 in quotes'],
    ['a word for a number', FLOAT, 'many', 'write a number'],
    ['another choice', typeOf({ case: 'enumType', value: { values: ['red'] } }), 'blue', 'choose one of red'],
    [
      'a wrong element',
      typeOf({ case: 'collectionType', value: INTEGER }),
      [1, 'x'],
      'element 2: write a whole number',
    ],
    ['a word for a time', simple(SimpleType.DATETIME), 'tomorrow', 'write a time such as 2026-03-02T09:58:16Z'],
    ['a day that the calendar lacks', simple(SimpleType.DATETIME), '2026-02-30', 'write a time with a day that exists'],
    ['the hour 24', simple(SimpleType.DATETIME), '2026-03-02T24:00:00Z', 'write a time with an hour below 24'],
    [
      'the hour 24 without a zone',
      simple(SimpleType.DATETIME),
      '2026-03-02 24:00',
      'write a time with an hour below 24',
    ],
    ['a later year', simple(SimpleType.DATETIME), '+010000-01-01T00:00:00Z', 'write a time of the years 1 to 9999'],
    ['the year 0', simple(SimpleType.DATETIME), '0000-12-31T00:00:00Z', 'write a time of the years 1 to 9999'],
    [
      'more digits than nanoseconds',
      simple(SimpleType.DURATION),
      '0.9999999999s',
      'write a duration of whole nanoseconds',
    ],
    ['a longer duration', simple(SimpleType.DURATION), '9999999999999d', 'write a duration of at most 315576000000s'],
    ['a word for a duration', simple(SimpleType.DURATION), '5 apples', 'write a duration such as 1h 30m, 90s or 250ms'],
  ])('cannot be %s, and the error says what to write', (_name, type, value, words) => {
    expect(() => literalOf(type, value)).toThrow(words);
  });

  it('of a union are of a variant that fits, and the words for its type name all variants', () => {
    const type = typeOf({ case: 'unionType', value: { variants: [INTEGER, TEXT] } });
    expect(jsonOf(literalOf(type, 'seven'))).toBe('seven');
    expect(jsonOf(literalOf(type, 7))).toBe(7);
    expect(typeInWords(type)).toBe('integer or text');
  });

  it('of a union are of a variant that takes them as they are, before one for which they can be read', () => {
    const lists = [INTEGER, TEXT].map((value) => typeOf({ case: 'collectionType', value }));
    const type = typeOf({ case: 'unionType', value: { variants: [INTEGER, TEXT, ...lists] } });
    for (const value of ['7', 7, ['7', '8'], [7, 8]]) expect(jsonOf(literalOf(type, value))).toEqual(value);
    const numbers = typeOf({ case: 'unionType', value: { variants: [simple(SimpleType.NONE), INTEGER] } });
    expect(jsonOf(literalOf(numbers, '7'))).toBe(7);
  });

  it('of a union with the type none are of the type none only when they are null', () => {
    const type = typeOf({ case: 'unionType', value: { variants: [simple(SimpleType.NONE), TEXT] } });
    expect(jsonOf(literalOf(type, 'seven'))).toBe('seven');
    expect(jsonOf(literalOf(type, null))).toBe(null);
  });
});

describe('recorded inputs', () => {
  const inputs = fixtureFolders()
    .flatMap(({ entries }) => entries)
    .filter(({ kind }) => kind === 'execution')
    .flatMap(({ path, bytes }) =>
      Object.entries(fromBinary(ExecutionCreateRequestSchema, bytes).inputs?.literals ?? {}).map(
        ([name, literal]) => [`${path} ${name}`, literal] as const,
      ),
    );

  it('are more than 20', () => {
    expect(inputs.length).toBeGreaterThan(20);
  });

  it.each(inputs)('%s can be shown', (_name, literal) => {
    const plain = displayValueOf(literal);
    expect(plain.type).not.toBe('');
    expect(jsonText(jsonOf(literal))).not.toBe('');
  });
});
