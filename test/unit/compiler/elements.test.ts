import { create, fromJson, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { BooleanExpressionSchema } from '../../../proto/gen/platformidl/core/condition_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type BindingData, BindingDataSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import {
  type GateNodeSchema,
  type IfElseBlockSchema,
  type Node,
} from '../../../proto/gen/platformidl/core/workflow_pb.js';
import * as t from '../../../services/compiler/types/types.js';
import { bindings, constant, errorsOf, idOf, many, node, promise, taskNode, typed, workflow } from './graph.js';

/** A task that is named after its interface: it takes nothing and gives an integer. */
const MAKE = '> integer o';

const ENUM = create(LiteralTypeSchema, { type: { case: 'enumType', value: { values: ['red', 'blue'] } } });
const POINT = create(LiteralTypeSchema, {
  type: { case: 'simple', value: SimpleType.STRUCT },
  structure: { tag: 'point', dataclassType: { x: t.INTEGER, names: t.collectionOf(t.STRING) } },
});
const data = (value: MessageInitShape<typeof BindingDataSchema>['value']): BindingData =>
  create(BindingDataSchema, value ? { value } : {});
const mapped = (each: Record<string, BindingData>): BindingData => data({ case: 'map', value: { bindings: each } });

/** The errors of a workflow with an input `x`, a node `a`, and an output of type `wanted` that is bound to `bound`. */
const giving = (wanted: LiteralType, bound: BindingData, x: LiteralType = t.INTEGER): string[] =>
  errorsOf(
    workflow([taskNode('a', MAKE)], { interface: typed({ x }, { y: wanted }), outputs: bindings({ y: bound }) }),
  );

type Row = readonly [what: string, wanted: LiteralType, bound: BindingData, x: LiteralType, code: string | undefined];

const BINDINGS: readonly Row[] = [
  ['a value of an enum', ENUM, constant('red'), t.NONE, undefined],
  ['a value that the enum does not have', ENUM, constant('green'), t.NONE, 'IllegalEnumValue'],
  ['a number for an enum', ENUM, constant(1n), t.NONE, 'MismatchingTypes'],
  ['a text input for an enum', ENUM, promise('.x'), t.STRING, undefined],
  ['an enum input for a text', t.STRING, promise('.x'), ENUM, undefined],
  ['a field of a structure', t.INTEGER, promise('.x', 'x'), POINT, undefined],
  ['an element of a field', t.STRING, promise('.x', 'names', 0), POINT, undefined],
  ['a field that the structure does not have', t.INTEGER, promise('.x', 'z'), POINT, 'FieldNotFound'],
  ['a field of another type', t.STRING, promise('.x', 'x'), POINT, 'MismatchingTypes'],
  ['an index into a structure', t.INTEGER, promise('.x', 0), POINT, 'FieldNotFound'],
  ['an entry of a map', t.INTEGER, promise('.x', 'k'), t.mapOf(t.INTEGER), undefined],
  ['an entry of a list', t.INTEGER, promise('.x', 'k'), t.collectionOf(t.INTEGER), 'FieldNotFound'],
  ['a field of a structure without any', t.INTEGER, promise('.x', 'k'), t.STRUCT, 'MismatchingTypes'],
  ['a map of numbers', t.mapOf(t.INTEGER), mapped({ a: constant(1n), b: promise('a.o') }), t.NONE, undefined],
  ['a map with a text in it', t.mapOf(t.INTEGER), mapped({ a: constant('x') }), t.NONE, 'MismatchingTypes'],
  ['a map for a list', t.collectionOf(t.INTEGER), mapped({}), t.NONE, 'MismatchingBindings'],
  ['a list for a map', t.mapOf(t.INTEGER), many(), t.NONE, 'MismatchingBindings'],
  ['a list with a text in it', t.collectionOf(t.INTEGER), many(constant('x')), t.NONE, 'MismatchingTypes'],
  ['a list of lists', t.collectionOf(t.collectionOf(t.INTEGER)), many(many(constant(1n)), many()), t.NONE, undefined],
  ['a number for an optional one', t.unionOf([t.INTEGER, t.NONE]), constant(1n), t.NONE, undefined],
  ['an optional number for a number', t.INTEGER, promise('.x'), t.unionOf([t.INTEGER, t.NONE]), 'MismatchingTypes'],
  ['nothing at all', t.INTEGER, data(undefined), t.NONE, 'ValueRequired'],
  ['a constant without a value', t.INTEGER, data({ case: 'scalar', value: {} }), t.NONE, 'InvalidLiteralType'],
];

describe('a binding', () => {
  it.each(BINDINGS)('of %s gives its error, or none', (_what, ...[wanted, bound, x, code]) => {
    expect(giving(wanted, bound, x)).toEqual(code === undefined ? [] : [expect.stringContaining(code)]);
  });

  it('is refused when its variable is bound already', () => {
    const twice = taskNode('b', 'integer a >', { a: constant(1n) });
    twice.inputs.push(...bindings({ a: constant(2n) }));
    expect(errorsOf(workflow([twice]))).toEqual(['ParameterBoundMoreThanOnce b']);
  });
});

describe('an output of a workflow', () => {
  const outputs = (bound: Record<string, BindingData>) =>
    workflow([taskNode('a', MAKE)], { interface: typed({}, { y: t.INTEGER }), outputs: bindings(bound) });

  it.each<readonly [string, Record<string, BindingData>, string]>([
    ['is bound', {}, 'ParameterNotBound'],
    ['is one that the workflow has', { y: constant(1n), z: constant(1n) }, 'VariableNameNotFound'],
    ['is of its type', { y: constant('x') }, 'MismatchingTypes'],
    ['is made by a node that exists', { y: promise('b.o') }, 'NodeReferenceNotFound'],
  ])('is refused unless it %s', (_rule, bound, code) => {
    expect(errorsOf(outputs(bound))).toEqual([`${code} end-node`]);
  });
});

describe('an alias', () => {
  const aliased = (...names: readonly (readonly [string, string])[]): Node =>
    Object.assign(taskNode('a', MAKE), {
      outputAliases: names.map(([name, alias]) => ({ $typeName: 'platformidl.core.Alias', var: name, alias })),
    });
  const take = (name: string) => taskNode('b', 'integer a >', { a: promise(name) });

  it('is one more name of an output', () => {
    expect(errorsOf(workflow([aliased(['o', 'result']), take('a.result')]))).toEqual([]);
    expect(errorsOf(workflow([aliased(['o', 'result']), take('a.other')]))).toEqual(['VariableNameNotFound b']);
  });

  it('is refused when it is given twice, or for an output that does not exist', () => {
    expect(errorsOf(workflow([aliased(['o', 'r'], ['o', 'r'])]))).toEqual(['DuplicateAlias a']);
    expect(errorsOf(workflow([aliased(['p', 'r'])]))).toEqual(['VariableNameNotFound a']);
  });
});

describe('a branch', () => {
  const comparison = { leftValue: { var: 'v' }, rightValue: { primitive: { integer: '1' } } };
  const condition = fromJson(BooleanExpressionSchema, { comparison });
  const branch = (ifElse: MessageInitShape<typeof IfElseBlockSchema>) =>
    errorsOf(workflow([node('b', { case: 'branchNode', value: { ifElse: ifElse as never } }, { v: constant(1n) })]));
  const failing = { case: 'error', value: { failedNodeId: 'b', message: 'no way' } } as const;
  const first = { condition, thenNode: taskNode('n0', MAKE) } as never;

  it.each<readonly [string, MessageInitShape<typeof IfElseBlockSchema>, readonly string[]]>([
    ['may end in an error', { case: first, default: failing }, []],
    ['is refused without a first case', { default: failing }, ['BranchNodeHasNoCondition b']],
    [
      'is refused without a node in its first case',
      { case: { condition } as never, default: failing },
      ['ValueRequired b'],
    ],
    [
      'is refused without a condition in its first case',
      { case: { thenNode: taskNode('n0', MAKE) } as never, default: failing },
      ['BranchNodeHasNoCondition b'],
    ],
    ['is refused without a default', { case: first }, ['BranchNodeHasNoDefault b']],
    [
      'is refused when a node in it has no id',
      { case: first, default: { case: 'elseNode', value: taskNode('', MAKE) } },
      ['ValueRequired b'],
    ],
  ])('%s', (_rule, ifElse, errors) => {
    expect(branch(ifElse)).toEqual(errors);
  });
});

describe('a gate', () => {
  type Condition = MessageInitShape<typeof GateNodeSchema>['condition'] & object;
  const gate = (condition: Condition) => node('g', { case: 'gateNode', value: { condition } });
  const signal = (more: object): Condition => ({ case: 'signal', value: { signalId: 's', ...more } });
  const take = taskNode('c', 'integer a >', { a: promise('g.said') });

  it.each<readonly [string, Node[], readonly string[]]>([
    [
      'that waits for a value has it as output',
      [gate(signal({ type: t.INTEGER, outputVariableName: 'said' })), take],
      [],
    ],
    [
      'that waits for a value is refused without a type',
      [gate(signal({ outputVariableName: 'said' }))],
      ['ValueRequired g'],
    ],
    [
      'that waits for a value is refused without a name for it',
      [gate(signal({ type: t.INTEGER }))],
      ['ValueRequired g'],
    ],
    ['that sleeps has no output', [gate({ case: 'sleep', value: {} }), take], ['VariableNameNotFound c']],
    ['is refused without a condition', [gate({ case: undefined })], ['NoConditionFound g']],
  ])('%s', (_rule, nodes, errors) => {
    expect(errorsOf(workflow(nodes))).toEqual(errors);
  });
});

describe('a sub-workflow', () => {
  const sub = (...nodes: Node[]) => workflow(nodes, { id: idOf('s', ResourceType.WORKFLOW), interface: typed({}, {}) });
  const use = node('a', { case: 'workflowNode', value: { reference: { case: 'subWorkflowRef', value: idOf('s') } } });

  it('is refused when it does not come with the workflow, or comes twice', () => {
    expect(errorsOf(workflow([use]), [])).toEqual(['WorkflowReferenceNotFound a']);
    expect(errorsOf(workflow([use]), [sub(taskNode('x', MAKE)), sub(taskNode('y', MAKE))])).toEqual([
      expect.stringMatching(/^DuplicateId /u),
    ]);
  });

  it('is refused without an interface when a node runs it', () => {
    const bare = workflow([taskNode('x', MAKE)], { id: idOf('s', ResourceType.WORKFLOW) });
    expect(errorsOf(workflow([use]), [bare])).toEqual(['ValueRequired a']);
    expect(errorsOf(workflow([taskNode('y', MAKE)]), [bare])).toEqual([]);
  });
});
