import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';

import { jsonOf } from '../../../interface/values/json-of.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { launch, type LaunchFlags, relaunch } from '../../../services/cli/client/executions/launch.js';
import { literalsOf } from '../../../services/cli/client/inputs/inputs.js';

const typeOf = (type: MessageInitShape<typeof LiteralTypeSchema>['type'] & object): LiteralType =>
  create(LiteralTypeSchema, { type });
const simple = (value: SimpleType): LiteralType => typeOf({ case: 'simple', value });
const union = (...variants: LiteralType[]): LiteralType => typeOf({ case: 'unionType', value: { variants } });

const [TEXT, INTEGER, NONE] = [simple(SimpleType.STRING), simple(SimpleType.INTEGER), simple(SimpleType.NONE)];

const declared = (type: LiteralType, isRequired = true) => [{ name: 'x', type, description: '', isRequired }];
/** The value of the input `x` from a text on the command line, as JSON. */
const ofText = (type: LiteralType, text: string): unknown =>
  jsonOf(literalsOf(declared(type), { texts: { x: text }, values: {} })['x']!);
/** The value of the input `x` from a YAML document, as JSON. */
const ofYaml = (type: LiteralType, text: string): unknown =>
  jsonOf(
    literalsOf(declared(type), {
      texts: {},
      values: parse(text, { intAsBigInt: true }) as object as Record<string, unknown>,
    })['x']!,
  );

describe('an input of the command line', () => {
  it.each<[string, LiteralType, string, unknown]>([
    ['a text', TEXT, 'yes: no', 'yes: no'],
    ['a text of digits', TEXT, '007', '007'],
    ['an integer', INTEGER, '9007199254740993', '9007199254740993'],
    ['a float', simple(SimpleType.FLOAT), '1e-3', 0.001],
    ['a boolean', simple(SimpleType.BOOLEAN), 'true', true],
    ['a time', simple(SimpleType.DATETIME), '2026-03-02', '2026-03-02T00:00:00.000Z'],
    ['a duration', simple(SimpleType.DURATION), '1h30m', '5400s'],
    ['a struct', simple(SimpleType.STRUCT), '{a: [1, {b: c}]}', { a: [1, { b: 'c' }] }],
    ['none', NONE, 'null', null],
    ['a list', typeOf({ case: 'collectionType', value: INTEGER }), '[1, 2]', [1, 2]],
    ['a map', typeOf({ case: 'mapValueType', value: TEXT }), '{a: "1"}', { a: '1' }],
    ['a choice', typeOf({ case: 'enumType', value: { values: ['red'] } }), 'red', 'red'],
    ['a file', typeOf({ case: 'blob', value: { format: 'csv' } }), 's3://b/k', 's3://b/k'],
    ['a dataset', typeOf({ case: 'structuredDatasetType', value: {} }), 's3://b/d', 's3://b/d'],
    ['a schema', typeOf({ case: 'schema', value: {} }), 's3://b/s', 's3://b/s'],
    ['the integer of a union', union(NONE, TEXT, INTEGER), '7', 7],
    ['the text of a union', union(NONE, INTEGER, TEXT), 'seven: [', 'seven: ['],
    ['none of a union', union(NONE, TEXT), 'null', null],
  ])('is %s', (_name, type, text, value) => {
    expect(ofText(type, text)).toEqual(value);
  });

  it('may come from a YAML document, where an integer keeps all its digits', () => {
    expect(ofYaml(INTEGER, 'x: 9007199254740993')).toBe('9007199254740993');
    expect(ofYaml(typeOf({ case: 'collectionType', value: INTEGER }), 'x: [1, 2]')).toEqual([1, 2]);
  });

  it('may be left out when it is not required', () => {
    expect(literalsOf(declared(TEXT, false), { texts: {}, values: {} })).toEqual({});
  });

  it('may be called like a property that every object has', () => {
    const named = declared(TEXT, false).map((each) => ({ ...each, name: 'constructor' }));
    expect(literalsOf(named, { texts: {}, values: {} })).toEqual({});
    expect(Object.keys(literalsOf(named, { texts: { constructor: 'a' }, values: {} }))).toEqual(['constructor']);
  });

  it('is refused with its name and type, with a line for each problem', () => {
    const types = [
      { name: 'count', type: INTEGER, description: '', isRequired: true },
      { name: 'day', type: simple(SimpleType.DATETIME), description: '', isRequired: true },
    ];
    const given = { texts: { count: 'many', cuont: '1' }, values: {} };
    expect(() => literalsOf(types, given)).toThrow(
      [
        'input cuont: there is no such input, or its value is fixed; those that can be given are count, day',
        'input count (integer): write a whole number',
        'input day (datetime) is needed: --input day=…',
      ].join('\n'),
    );
    expect(() => ofText(typeOf({ case: 'collectionType', value: INTEGER }), '[1')).toThrow(
      /^input x \(list of integer\): write YAML or JSON: /u,
    );
  });
});

it.each([
  ['launch', (flags: LaunchFlags) => launch('workflow', { name: 'w', version: undefined }, flags)],
  ['relaunch', (flags: LaunchFlags) => relaunch('e', flags)],
])('a file of inputs that does not exist is reported by %s before a server is called', async (_, command) => {
  const nowhere = { server: 'http://127.0.0.1:1', project: 'p', domain: 'd', output: 'table', wait: false } as const;
  await expect(command({ ...nowhere, inputs: '/nonexistent/inputs.yaml' })).rejects.toThrow(
    '/nonexistent/inputs.yaml: ENOENT',
  );
});
