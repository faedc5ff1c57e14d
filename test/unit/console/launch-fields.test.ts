import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import {
  type Entry,
  entryOfJson,
  entryOfList,
  entryOfMap,
  entryOfStruct,
} from '../../../console/launch/fields/entry.js';
import { membersOf, memberValues } from '../../../console/launch/fields/members.js';
import { entryOfVariant, variantIndex } from '../../../console/launch/fields/variants.js';
import { displayValueOf, jsonText, messagePackText } from '../../../console/values/display-value.js';
import { jsonOf } from '../../../interface/values/json-of.js';
import { unionLiteral } from '../../../interface/values/literal-of.js';
import { typeInWords } from '../../../interface/values/type-text.js';
import { ExecutionCreateRequestSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  type LaunchPlanCreateRequest,
  LaunchPlanCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { type Literal, LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  type LiteralType,
  LiteralTypeSchema,
  SimpleType,
  TypeStructureSchema,
} from '../../../proto/gen/platformidl/core/types_pb.js';
import { type FixtureEntry, fixtureFolders } from '../../support/requests/fixtures.js';

/** The default and fixed inputs of a launch plan, by name. */
const ofPlan = ({ spec }: LaunchPlanCreateRequest): readonly (readonly [string, Literal])[] => {
  const defaults = Object.entries(spec?.defaultInputs?.parameters ?? {}).flatMap(([name, { behavior }]) =>
    behavior.case === 'default' ? [[name, behavior.value] as const] : [],
  );
  return [...defaults, ...Object.entries(spec?.fixedInputs?.literals ?? {})];
};

/** The inputs that a launch plan or an execution of the fixtures has, by name. */
const literalsIn = ({ kind, bytes }: FixtureEntry): readonly (readonly [string, Literal])[] => {
  if (kind === 'launch_plan') return ofPlan(fromBinary(LaunchPlanCreateRequestSchema, bytes));
  if (kind !== 'execution') return [];
  return Object.entries(fromBinary(ExecutionCreateRequestSchema, bytes).inputs?.literals ?? {});
};

/** The literals of all launch plans and executions of the fixtures, with their paths and names. */
const recorded = fixtureFolders()
  .flatMap(({ entries }) => entries)
  .flatMap((entry) => literalsIn(entry).map(([name, literal]) => [`${entry.path} ${name}`, literal] as const));

/** The entry that a form makes of the parts of a value when none of its fields is changed. */
const assembled = (literal: Literal): Entry => {
  const { value } = literal;
  if (value.case === 'collection') return entryOfList(value.value.literals.map(assembled));
  if (value.case === 'map')
    return entryOfMap(Object.entries(value.value.literals).map(([key, each]) => [key, assembled(each)]));
  if (value.case === 'scalar' && value.value.value.case === 'union') {
    const { type, value: inner } = value.value.value.value;
    const entry = inner ? assembled(inner) : {};
    return type && entry.literal ? { literal: unionLiteral(type, entry.literal) } : entry;
  }
  return { literal };
};

const bytesOf = (literal: Literal | undefined): Uint8Array => toBinary(LiteralSchema, literal!);

describe('the values of the fixtures in a form', () => {
  it('are more than thirty', () => expect(recorded.length).toBeGreaterThan(30));

  it.each(recorded)('%s is shown with its type, and sent byte for byte', (_name, literal) => {
    expect(displayValueOf(literal).type).not.toBe('');
    expect(bytesOf(assembled(literal).literal)).toEqual(bytesOf(literal));
  });
});

describe('MessagePack in base64', () => {
  it('is shown as JSON, and other bytes are not', () => {
    expect(messagePackText('gaF4AQ==')).toBe('{\n  "x": 1\n}');
    expect(messagePackText('wQ==')).toBeUndefined(); // the byte c1, which MessagePack never uses
    expect(messagePackText('gaF4')).toBeUndefined(); // cut off after the key
  });
});

describe('data as JSON text', () => {
  it('has numbers that JSON cannot represent, and bytes, as texts', () => {
    expect(JSON.parse(jsonText({ a: NaN, b: -Infinity, c: 2n ** 60n, d: Uint8Array.of(1, 2), e: 1.5 }))).toEqual({
      a: 'NaN',
      b: '-Infinity',
      c: '1152921504606846976',
      d: 'AQI=',
      e: 1.5,
    });
  });
});

const struct = (more: Partial<Pick<LiteralType, 'metadata'>> = {}): LiteralType =>
  create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.STRUCT }, ...more });

const POINT = {
  type: 'object',
  properties: { x: { type: 'number' }, label: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
  required: ['x'],
};

/** A struct type whose JSON schema refers to the schema of another one. */
const SHAPE = struct({
  metadata: {
    $ref: '#/definitions/Shape',
    definitions: {
      Point: POINT,
      Shape: {
        type: 'object',
        properties: {
          colour: { enum: ['red', 'green'] },
          corners: { type: 'array', items: { $ref: '#/definitions/Point' } },
          weights: { type: 'object', additionalProperties: { type: 'integer' } },
          free: { type: 'object' },
        },
        required: ['colour'],
      },
    },
  },
});

describe('the members of a struct', () => {
  it('have the types of its JSON schema, also those that it refers to', () => {
    const members = membersOf(SHAPE)!;
    expect(Object.entries(members.types).map(([name, type]) => `${name}: ${typeInWords(type)}`)).toEqual([
      'colour: one of red, green',
      'corners: list of struct',
      'weights: map of integer',
      'free: struct',
    ]);
    const { type } = members.types['corners']!;
    const point = type.case === 'collectionType' ? membersOf(type.value) : undefined;
    expect(Object.entries(point?.types ?? {}).map(([name, each]) => `${name}: ${typeInWords(each)}`)).toEqual([
      'x: float',
      'label: text or none',
    ]);
  });

  it('are of a union where their schema lists several types', () => {
    const members = membersOf(struct({ metadata: { properties: { age: { type: ['integer', 'null'] } } } }))!;
    expect(typeInWords(members.types['age']!)).toBe('integer or none');
  });

  it('have the types of a dataclass', () => {
    const integer = create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.INTEGER } });
    const structure = create(TypeStructureSchema, { dataclassType: { epochs: integer } });
    const type = create(LiteralTypeSchema, { ...struct(), structure });
    expect(membersOf(type)).toMatchObject({ types: { epochs: integer }, required: [] });
  });

  it('are read from a value, and make an equal value', () => {
    const members = membersOf(SHAPE)!;
    const json = { colour: 'red', corners: [{ x: 1.5, label: 'a' }], weights: { a: 7 } };
    const { literal } = entryOfJson(SHAPE, json);
    const values = memberValues(members, literal)!;
    const parts = Object.entries(values).map(([name, each]) => [name, { literal: each }] as const);
    expect(jsonOf(entryOfStruct(SHAPE, parts, members.required).literal!)).toEqual(json);
  });

  it('may have any value where their schema has no type, and any elements where a list has no type for them', () => {
    const type = struct({ metadata: { properties: { any: {}, list: { type: 'array' } } } });
    const members = membersOf(type)!;
    for (const any of ['7', 7, 1.5, true, { a: 1 }, ['x', 7, { b: [1] }], null]) {
      const json = { any, list: ['7', 7, { c: 1 }] };
      const values = memberValues(members, entryOfJson(type, json).literal)!;
      const parts = Object.entries(values).map(([name, literal]) => [name, { literal }] as const);
      expect(jsonOf(entryOfStruct(type, parts, []).literal!)).toEqual(json);
    }
  });

  it('of a union keep a text that reads like a number apart from a number', () => {
    const type = struct({ metadata: { properties: { id: { anyOf: [{ type: 'integer' }, { type: 'string' }] } } } });
    const members = membersOf(type)!;
    for (const json of [{ id: '7' }, { id: 7 }]) {
      const values = memberValues(members, entryOfJson(type, json).literal)!;
      expect(jsonOf(entryOfStruct(type, [['id', { literal: values['id']! }]], []).literal!)).toEqual(json);
    }
  });

  it('are undefined for a value that does not fit the schema, and for a struct without a schema', () => {
    const members = membersOf(SHAPE)!;
    expect(memberValues(members, entryOfJson(SHAPE, { colour: 'blue' }).literal)).toBeUndefined();
    expect(memberValues(members, entryOfJson(SHAPE, { size: 1 }).literal)).toBeUndefined();
    expect(memberValues(members, entryOfJson(SHAPE, { constructor: 'a' }).literal)).toBeUndefined();
    expect(membersOf(struct())).toBeUndefined();
  });

  it('must be given where the schema says so, and may be left out elsewhere', () => {
    const { required } = membersOf(SHAPE)!;
    expect(entryOfStruct(SHAPE, [['colour', {}]], required)).toEqual({ problem: 'colour: a value is needed' });
    expect(entryOfStruct(SHAPE, [['free', {}]], []).problem).toBeUndefined();
    expect(entryOfStruct(SHAPE, [['x', { problem: 'write a number' }]], [])).toEqual({ problem: 'x: write a number' });
  });
});

describe('a time in a form', () => {
  it.each([
    ['datetime', '2026-03-02T09:58:16Z', SimpleType.DATETIME],
    ['duration', '90s', SimpleType.DURATION],
  ])('of the type %s may be written as the example of its field: %s', (_type, example, value) => {
    const type = create(LiteralTypeSchema, { type: { case: 'simple', value } });
    expect(entryOfJson(type, example).problem).toBeUndefined();
  });
});

describe('a map in a form', () => {
  it('is refused when a key is there twice', () => {
    const one = entryOfJson(create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.INTEGER } }), 1);
    expect(
      entryOfMap([
        ['a', one],
        ['b', one],
        ['a', one],
      ]).problem,
    ).toBe('the key “a” is there twice');
  });
});

describe('a union in a form', () => {
  const simple = (value: SimpleType): LiteralType => create(LiteralTypeSchema, { type: { case: 'simple', value } });
  const none = simple(SimpleType.NONE);
  const integer = simple(SimpleType.INTEGER);
  const { literal: seven } = entryOfJson(
    create(LiteralTypeSchema, { type: { case: 'unionType', value: { variants: [none, integer] } } }),
    7,
  );

  it('begins with the variant of its value, and without a value with one that is not none', () => {
    expect(variantIndex([none, integer], seven)).toBe(1);
    expect(variantIndex([integer, none], entryOfVariant(none, undefined).literal)).toBe(1);
    expect(variantIndex([none, integer], undefined)).toBe(1);
    expect(variantIndex([none], undefined)).toBe(0);
  });

  it('begins with the variant of its value among several that read the same, such as two dataclasses', () => {
    const [first, second] = ['First', 'Second'].map((title) =>
      create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.STRUCT }, metadata: { title } }),
    ) as [LiteralType, LiteralType];
    const value = entryOfJson(second, { count: 7 }).literal!;
    expect(variantIndex([first, second], unionLiteral(second, value))).toBe(1);
    const { metadata: _metadata, ...withoutMetadata } = second;
    expect(variantIndex([integer, second], unionLiteral(withoutMetadata, value))).toBe(1);
  });

  it('has its initial value again when the variant of it is chosen again', () => {
    expect(entryOfVariant(integer, undefined)).toEqual({});
    expect(entryOfVariant(integer, seven)).toEqual({ literal: seven });
  });
});
