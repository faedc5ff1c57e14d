import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BooleanExpression,
  BooleanExpressionSchema,
  ComparisonExpression_Operator as Operator,
  ConjunctionExpression_LogicalOperator as Logical,
  OperandSchema,
} from '../../../proto/gen/platformidl/core/condition_pb.js';
import { BindingSchema, type Scalar, ScalarSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { isCastable } from '../../../services/compiler/types/castability.js';
import { typeOfLiteral } from '../../../services/compiler/types/literal-type.js';
import { nodeInputs } from '../../../engine/walk/values/bindings.js';
import { holds } from '../../../engine/walk/values/condition.js';
import { randomSource } from '../../../engine/walk/values/random.js';
import { childExecutionName, uniqueNodeId } from '../../../engine/walk/ids.js';
import { collection, mapLiteral, packed, primitive } from '../../../engine/walk/values/literal-values.js';
import { pack, type PlainValue, unpack } from '../../../engine/walk/values/msgpack.js';
import { drawLiteral } from '../../../engine/walk/values/typed-literals.js';
import { registeredWorld } from './world.js';

const { tasks } = registeredWorld();

const types = [...tasks.values()].flatMap(({ template }) =>
  [template?.interface?.inputs, template?.interface?.outputs].flatMap((map) =>
    Object.values(map?.variables ?? {}).map(({ type }) => type!),
  ),
);

const simple = (value: SimpleType): LiteralType => create(LiteralTypeSchema, { type: { case: 'simple', value } });

describe('values drawn at random', () => {
  it('can be cast to their type, whatever the draw', () => {
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.integer(), (type, seed) => {
        const drawn = typeOfLiteral(drawLiteral(randomSource(seed), type));
        expect(drawn && isCastable(drawn, type)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('can be cast to simple types, whether or not a task uses them', () => {
    for (const value of [SimpleType.NONE, SimpleType.INTEGER, SimpleType.BINARY, SimpleType.ERROR, SimpleType.STRUCT]) {
      const drawn = typeOfLiteral(drawLiteral(randomSource('any'), simple(value)));
      expect(drawn && isCastable(drawn, simple(value))).toBe(true);
    }
  });

  it('are the same for the same seed, and differ for another', () => {
    const draws = (seed: string): readonly number[] => Array.from({ length: 5 }, randomSource(seed, 'n0', 0));
    expect(draws('a')).toEqual(draws('a'));
    expect(draws('a')).not.toEqual(draws('b'));
  });
});

describe('values in MessagePack', () => {
  const plain: fc.Arbitrary<PlainValue> = fc.letrec<{ plain: PlainValue }>((tie) => ({
    plain: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      fc.string({ maxLength: 80 }),
      fc.bigInt({ min: -(2n ** 63n), max: -1n }),
      fc.double({ noNaN: true }).map(($float) => ({ $float })),
      fc.array(tie('plain'), { maxLength: 20 }),
      fc.dictionary(
        fc.string({ minLength: 1 }).filter((key) => key !== '$float' && key !== '__proto__'),
        tie('plain'),
      ),
    ),
  })).plain;

  it('are unpacked as they were packed', () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(unpack(pack(value))).toEqual(value);
      }),
    );
  });

  it('keep integers below 2^64, and numbers that no 64-bit integer can hold', () => {
    for (const value of [2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n]) expect(unpack(pack(value))).toBe(value);
    expect(unpack(pack(1e300))).toEqual({ $float: 1e300 });
  });
});

describe('bindings', () => {
  it('reach into data classes, lists and maps', () => {
    const survey = packed(pack({ position: { altitude: 109n, names: ['a', 'b'] } }));
    const surveys = collection([mapLiteral({ first: survey })]);
    const path = [
      { value: { case: 'intValue', value: 0 } },
      { value: { case: 'stringValue', value: 'first' } },
      { value: { case: 'stringValue', value: 'position' } },
      { value: { case: 'stringValue', value: 'names' } },
      { value: { case: 'intValue', value: 1 } },
    ] as const;
    const binding = create(BindingSchema, {
      var: 'name',
      binding: { value: { case: 'promise', value: { nodeId: 'n0', var: 'surveys', attrPath: [...path] } } },
    });
    const inputs = nodeInputs([binding], new Map([['n0', { surveys }]]));
    expect(inputs['name']).toEqual(packed(pack('b')));
  });
});

describe('conditions', () => {
  const compare = (operator: Operator, left: string, right: Scalar): BooleanExpression =>
    create(BooleanExpressionSchema, {
      expr: {
        case: 'comparison',
        value: {
          operator,
          leftValue: create(OperandSchema, { val: { case: 'var', value: left } }),
          rightValue: create(OperandSchema, { val: { case: 'scalar', value: right } }),
        },
      },
    });
  const combined = (
    operator: Logical,
    leftExpression: BooleanExpression,
    rightExpression: BooleanExpression,
  ): BooleanExpression =>
    create(BooleanExpressionSchema, {
      expr: { case: 'conjunction', value: { operator, leftExpression, rightExpression } },
    });
  const integer = (value: bigint): Scalar =>
    create(ScalarSchema, { value: { case: 'primitive', value: { value: { case: 'integer', value } } } });
  const text = (value: string): Scalar =>
    create(ScalarSchema, { value: { case: 'primitive', value: { value: { case: 'stringValue', value } } } });
  const inputs = {
    kg: primitive({ case: 'floatValue', value: 5 }),
    zone: primitive({ case: 'stringValue', value: 'inner' }),
  };

  it('compare numbers by value, and texts by their characters', () => {
    expect(holds(compare(Operator.EQ, 'kg', integer(5n)), inputs)).toBe(true);
    expect(holds(compare(Operator.LT, 'kg', integer(5n)), inputs)).toBe(false);
    expect(holds(compare(Operator.GTE, 'kg', integer(5n)), inputs)).toBe(true);
    expect(holds(compare(Operator.NEQ, 'zone', text('outer')), inputs)).toBe(true);
    expect(holds(compare(Operator.GT, 'zone', text('harbour')), inputs)).toBe(true);
  });

  it('compare integers beyond 2^53 exactly, also with floats', () => {
    const above = { big: primitive({ case: 'integer', value: 2n ** 53n + 1n }) };
    const float = create(ScalarSchema, {
      value: { case: 'primitive', value: { value: { case: 'floatValue', value: 2 ** 53 } } },
    });
    expect(holds(compare(Operator.EQ, 'big', integer(2n ** 53n)), above)).toBe(false);
    expect(holds(compare(Operator.GT, 'big', integer(2n ** 53n)), above)).toBe(true);
    expect(holds(compare(Operator.GT, 'big', float), above)).toBe(true);
    expect(holds(compare(Operator.EQ, 'big', integer(2n ** 53n + 1n)), above)).toBe(true);
  });

  it('combine with AND and OR', () => {
    const [yes, no] = [compare(Operator.EQ, 'kg', integer(5n)), compare(Operator.EQ, 'kg', integer(6n))];
    expect(holds(combined(Logical.AND, yes, no), inputs)).toBe(false);
    expect(holds(combined(Logical.OR, no, yes), inputs)).toBe(true);
  });
});

describe('ids', () => {
  it('are concatenated with hyphens, and hashed above 20 characters', () => {
    expect(uniqueNodeId('', 0, 'n0')).toBe('n0');
    expect(uniqueNodeId('n0', 0, 'dn1')).toBe('n0-0-dn1');
    expect(uniqueNodeId('n0-0-dn1', 0, 'start-node')).toBe('fmsvd5hi');
  });

  it('of child executions are names that an execution may have', () => {
    expect(childExecutionName('parent', 'n0', 0)).toBe('parent-n0-0');
    expect(childExecutionName('a-rather-long-parent', 'n0', 0)).toMatch(/^f[a-z2-7]{13}$/);
    expect(childExecutionName('parent', 'N0', 0)).toMatch(/^f[a-z2-7]{13}$/);
  });
});
