import { create, fromJson } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { BooleanExpressionSchema } from '../../../proto/gen/platformidl/core/condition_pb.js';
import { IdentifierSchema, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { ArrayNodeSchema, type Node } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { collectedErrors } from '../../../services/compiler/compile-error.js';
import { topologicalOrder } from '../../../services/compiler/graph/order.js';
import { requirementsOf } from '../../../services/compiler/graph/requirements.js';
import * as t from '../../../services/compiler/types/types.js';
import { timed } from '../../support/costs/timed.js';
import {
  bindings,
  compile,
  constant,
  errorsOf,
  idOf,
  many,
  node,
  promise,
  taskNode,
  typed,
  workflow,
} from './graph.js';

/** A task that is named after its interface: it takes nothing and gives an integer. */
const MAKE = '> integer o';
/** A task that takes an integer and gives one. */
const TAKE = 'integer a > integer o';

/** The closure of a workflow. @throws {Error} with the errors of the compilation. */
const compiledOf = (...args: Parameters<typeof compile>) => {
  const result = compile(...args);
  if ('errors' in result) throw new Error(collectedErrors(result.errors));
  return result.closure;
};
/** The ids of the nodes upstream of each node in the compiled workflow. */
const upstreamOf = (...args: Parameters<typeof compile>) => {
  const { upstream } = compiledOf(...args).primary!.connections!;
  return Object.fromEntries(Object.entries(upstream).map(([id, { ids }]) => [id, ids]));
};

describe('a graph', () => {
  test('has a start node before its first nodes, and an end node after its last', () => {
    const template = workflow([taskNode('a', MAKE), taskNode('b', TAKE, { a: promise('a.o') }), taskNode('c', MAKE)]);
    expect(upstreamOf(template)).toEqual({ a: ['start-node'], b: ['a'], c: ['start-node'], 'end-node': ['b', 'c'] });
  });

  test('has edges for data and for order, sorted', () => {
    const nodes = [taskNode('b', TAKE, { a: promise('.x') }, ['c', 'a']), taskNode('c', MAKE), taskNode('a', MAKE)];
    const template = workflow(nodes, {
      interface: typed({ x: t.INTEGER }, { y: t.INTEGER }),
      outputs: bindings({ y: promise('.x') }),
    });
    expect(upstreamOf(template)).toMatchObject({ b: ['a', 'c', 'start-node'], 'end-node': ['b', 'start-node'] });
    const { nodes: compiled } = compiledOf(template).primary!.template!;
    expect(compiled.map(({ id }) => id)).toEqual(['start-node', 'end-node', 'b', 'c', 'a']);
    expect(compiled[2]!.upstreamNodeIds).toEqual(['a', 'c']);
    expect(compiled[2]!.inputs[0]!.binding!.value).toMatchObject({ value: { nodeId: 'start-node', var: 'x' } });
  });

  test('refers to tasks and workflows by the ids that these are registered with', () => {
    const sent = { ...idOf('w'), resourceType: ResourceType.UNSPECIFIED, org: 'o' };
    const task = taskNode('a', MAKE);
    if (task.target.case === 'taskNode') Object.assign(task.target.value.reference.value!, sent, { name: MAKE });
    const own = node('b', { case: 'workflowNode', value: { reference: { case: 'launchplanRef', value: sent } } });
    const sub = node('c', {
      case: 'workflowNode',
      value: { reference: { case: 'subWorkflowRef', value: { ...sent, name: 's' } } },
    });
    const array = node('m', { case: 'arrayNode', value: create(ArrayNodeSchema, { node: task }) });
    const inner = workflow([taskNode('x', MAKE)], {
      id: create(IdentifierSchema, { ...sent, name: 's' }),
      interface: typed({}, {}),
    });
    const { primary, subWorkflows } = compiledOf(workflow([task, own, sub, array]), [inner]);
    const ids = JSON.stringify([primary, subWorkflows], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(ids).not.toMatch(/"org":"o"|"resourceType":0/u);
    expect(subWorkflows[0]!.template!.id!.resourceType).toBe(ResourceType.WORKFLOW);
  });

  test('keeps fields of its interface that a newer client sends', () => {
    // A field of length-delimited bytes with a number that this release does not know.
    const newer = [{ no: 603, wireType: 2, data: Uint8Array.of(1, 7) }];
    const compiled = compiledOf(workflow([taskNode('a', MAKE)], { interface: { ...typed({}, {}), $unknown: newer } }));
    expect(compiled.primary!.template!.interface!.$unknown).toEqual(newer);
  });

  test('has an upstream entry for a failure node only if an input of it is bound', () => {
    const own = { interface: typed({ x: t.INTEGER }, {}) };
    const without = workflow([taskNode('a', MAKE)], { ...own, failureNode: taskNode('f', MAKE) });
    const taking = workflow([taskNode('a', MAKE)], { ...own, failureNode: taskNode('f', TAKE, { a: promise('.x') }) });
    expect(upstreamOf(without)).not.toHaveProperty('f');
    expect(upstreamOf(taking)).toHaveProperty('f', ['start-node']);
  });

  test.each<readonly [string, readonly Node[], readonly string[]]>([
    ['without nodes', [], ['NoNodesFound start-node']],
    ['with an id twice', [taskNode('a', MAKE), taskNode('a', MAKE)], ['DuplicateId a']],
    ['with an id that the compiler uses', [taskNode('end-node', MAKE)], ['DuplicateId end-node']],
    ['with a node without an id', [taskNode('', MAKE)], ['ValueRequired ']],
    ['with a node without a target', [node('a', undefined)], ['ValueRequired a']],
    ['with a node that waits for itself', [taskNode('a', MAKE, {}, ['a'])], ['CycleDetected a']],
    ['with an unknown upstream node', [taskNode('a', MAKE, {}, ['b'])], ['NodeReferenceNotFound a']],
    ['with an unknown task', [taskNode('a', 'none')], ['TaskReferenceNotFound a']],
    ['with an input that is not bound', [taskNode('a', TAKE)], ['ParameterNotBound a']],
    ['with an input that does not exist', [taskNode('a', MAKE, { b: constant(1n) })], ['VariableNameNotFound a']],
    ['with a wrong constant', [taskNode('a', TAKE, { a: constant('1') })], ['MismatchingTypes a']],
    ['with a list for a number', [taskNode('a', TAKE, { a: many() })], ['MismatchingBindings a']],
    [
      'with a list that two variants of a union take',
      [taskNode('a', 'integers|strings a >', { a: many() })],
      ['AmbiguousBindingUnionValue a'],
    ],
    [
      'with a list that no variant of a union takes',
      [taskNode('a', 'integers|strings a >', { a: many(constant(1n), constant('x')) })],
      ['IncompatibleBindingUnionValue a'],
    ],
    [
      'with an index into a number',
      [taskNode('a', MAKE), taskNode('b', TAKE, { a: promise('a.o', 0) })],
      ['FieldNotFound b'],
    ],
    [
      'with a fault above other nodes, named once,',
      [taskNode('a', 'none'), taskNode('b', TAKE, { a: promise('a.o') }), taskNode('c', TAKE, { a: promise('b.o') })],
      ['TaskReferenceNotFound a'],
    ],
  ])('%s is refused', (_, nodes, errors) => {
    expect(errorsOf(workflow([...nodes]))).toEqual(errors);
  });

  test.each<readonly [string, readonly Node[]]>([
    ['an optional input that is not bound', [taskNode('a', 'integer? a >')]],
    ['a list that one variant of a union takes', [taskNode('a', 'integers|strings a >', { a: many(constant(1n)) })]],
    ['an element of a list', [taskNode('a', '> integers o'), taskNode('b', TAKE, { a: promise('a.o', 0) })]],
    [
      'an element of a list in the older spelling',
      [taskNode('a', '> integers o'), taskNode('b', TAKE, { a: promise('a.[0].o') })],
    ],
    [
      'a list of promises',
      [taskNode('a', MAKE), taskNode('b', 'integers l >', { l: many(promise('a.o'), constant(1n)) })],
    ],
  ])('may have %s', (_, nodes) => {
    expect(errorsOf(workflow([...nodes]))).toEqual([]);
  });

  test('with a cycle is refused with the nodes of the cycle', () => {
    const nodes = ['a', 'b', 'c'].map((id, i) => taskNode(id, TAKE, { a: promise(`${'cab'[i]!}.o`) }));
    const result = compile(workflow(nodes));
    expect('errors' in result && collectedErrors(result.errors)).toBe(
      'Collected Errors: 1\n\tError 0: Code: CycleDetected, Node Id: a, Description: ' +
        'nodes wait for each other: a > b > c > a',
    );
  });
});

describe('a branch', () => {
  const branch = (inner: Node, otherwise: Node, bound = promise('.x'), operand = '.x'): Node =>
    node(
      'b',
      {
        case: 'branchNode',
        value: {
          ifElse: {
            case: {
              condition: fromJson(BooleanExpressionSchema, {
                comparison: { leftValue: { var: operand }, rightValue: { primitive: { integer: '1' } } },
              }),
              thenNode: inner,
            },
            default: { case: 'elseNode', value: otherwise },
          },
        },
      },
      { '.x': bound },
    );
  const around = (...nodes: Node[]) => workflow(nodes, { interface: typed({ x: t.INTEGER }, {}) });

  test('has the outputs that all its nodes have with the same type', () => {
    const nodes = [branch(taskNode('n0', '> integer o, integer p'), taskNode('n1', '> integer o, string p'))];
    const take = (name: string) => taskNode('c', 'integer a >', { a: promise(`b.${name}`) });
    expect(errorsOf(around(...nodes, take('o')))).toEqual([]);
    expect(errorsOf(around(...nodes, take('p')))).toEqual(['VariableNameNotFound c']);
  });

  test('prefixes the ids of the nodes in it: such a node has an upstream entry if it refers to another node, and is not in the graph', () => {
    const template = around(
      taskNode('a', MAKE),
      branch(taskNode('b', TAKE, { a: promise('a.o') }), taskNode('n1', MAKE)),
    );
    const { primary } = compiledOf(template);
    expect(upstreamOf(template)).toEqual({
      a: ['start-node'],
      b: ['start-node'],
      'b-b': ['a'],
      'end-node': ['a', 'b'],
    });
    expect(primary!.template!.nodes.map(({ id }) => id)).toEqual(['start-node', 'end-node', 'a', 'b']);
  });

  test.each<readonly [string, Node[], string[]]>([
    [
      'compares types that differ',
      [branch(taskNode('n0', MAKE), taskNode('n1', MAKE), constant('x'))],
      ['MismatchingTypes b'],
    ],
    [
      'compares a variable that it does not bind',
      [branch(taskNode('n0', MAKE), taskNode('n1', MAKE), promise('.x'), '.y')],
      ['VariableNameNotFound b'],
    ],
    ['has a fault in a node', [branch(taskNode('n0', TAKE), taskNode('n1', MAKE))], ['ParameterNotBound b-n0']],
    ['has an id twice', [branch(taskNode('n0', MAKE), taskNode('n0', MAKE))], ['DuplicateId b-n0']],
    [
      'has an id that a node of the graph has',
      [branch(taskNode('n0', MAKE), taskNode('n1', MAKE)), taskNode('b-n0', MAKE)],
      ['DuplicateId b-n0'],
    ],
    [
      'has a node that waits for a node that waits for the branch',
      [branch(taskNode('n0', TAKE, { a: promise('c.o') }), taskNode('n1', MAKE)), taskNode('c', MAKE, {}, ['b'])],
      ['CycleDetected b'],
    ],
  ])('is refused when it %s', (_, nodes, errors) => {
    expect(errorsOf(around(...nodes))).toEqual(errors);
  });
});

describe('a gate', () => {
  test('that waits for approval has its inputs as outputs', () => {
    const approve = node(
      'g',
      { case: 'gateNode', value: { condition: { case: 'approve', value: { signalId: 's' } } } },
      { v: promise('a.o') },
    );
    const take = (name: string) => taskNode('c', 'integer a >', { a: promise(name) });
    expect(errorsOf(workflow([take('g.v'), approve, taskNode('a', MAKE)]))).toEqual([]);
    expect(errorsOf(workflow([take('g.w'), approve, taskNode('a', MAKE)]))).toEqual(['VariableNameNotFound c']);
    expect(errorsOf(workflow([approve]))).toEqual(['NodeReferenceNotFound g']);
  });
});

describe('an array node', () => {
  const array = (
    rest: Omit<Parameters<typeof create<typeof ArrayNodeSchema>>[1] & object, '$typeName'>,
    bound = many(constant(1n)),
  ): Node =>
    node(
      'm',
      {
        case: 'arrayNode',
        value: create(ArrayNodeSchema, { node: taskNode('i', 'integer a, integer k > integer o'), ...rest }),
      },
      { a: bound, k: constant(2n) },
    );
  const after = (first: Node, task: string) => workflow([first, taskNode('c', task, { l: promise('m.o') })]);

  test('with the original interface of its node takes and gives lists, except for bound inputs', () => {
    const mapped = array({ isOriginalSubNodeInterface: true, boundInputs: ['k'] });
    expect(errorsOf(after(mapped, 'integers l >'))).toEqual([]);
    expect(errorsOf(workflow([array({ isOriginalSubNodeInterface: true })]))).toEqual(['MismatchingTypes m']);
  });

  test('gives a list of optional elements when some may fail', () => {
    const mapped = array({
      isOriginalSubNodeInterface: true,
      boundInputs: ['k'],
      successCriteria: { case: 'minSuccessRatio', value: 0.5 },
    });
    expect(errorsOf(after(mapped, 'integers l >'))).toEqual(['MismatchingTypes c']);
    const indexed = taskNode('c', 'integer? a >', { a: promise('m.o', 0) });
    expect(errorsOf(workflow([mapped, indexed]))).toEqual([]);
  });

  test('without isOriginalSubNodeInterface has the interface of its node unchanged', () => {
    expect(errorsOf(after(array({}, constant(1n)), 'integer l >'))).toEqual([]);
  });
});

describe('a sub-workflow', () => {
  const sub = (name: string, ...nodes: Node[]) =>
    workflow(nodes, { id: idOf(name, ResourceType.WORKFLOW), interface: typed({}, {}) });
  const use = (id: string, name: string, kind: 'subWorkflowRef' | 'launchplanRef' = 'subWorkflowRef') =>
    node(id, { case: 'workflowNode', value: { reference: { case: kind, value: idOf(name) } } });

  test('is compiled too, and the error of a fault in it names it', () => {
    expect(compiledOf(workflow([use('a', 's')]), [sub('s', taskNode('x', MAKE))]).subWorkflows).toHaveLength(1);
    const result = compile(workflow([use('a', 's')]), [sub('s', taskNode('x', TAKE))]);
    expect('errors' in result && collectedErrors(result.errors)).toContain('variable a is not bound, in p:d:s:v');
  });

  test('that contains itself is refused', () => {
    expect(errorsOf(workflow([use('a', 's')]), [sub('s', use('x', 'r')), sub('r', use('y', 's'))])).toEqual([
      'CycleDetected ',
    ]);
    expect(errorsOf(workflow([use('a', 'w')]))).toEqual(['CycleDetected ', 'WorkflowReferenceNotFound a']);
  });

  test('by launch plan may be that of the workflow itself, which is not looked up', () => {
    const template = workflow([use('a', 'w', 'launchplanRef'), use('b', 'other', 'launchplanRef')]);
    expect(requirementsOf(template, []).launchPlans.map(({ name }) => name)).toEqual(['other']);
    expect(errorsOf(template)).toEqual(['WorkflowReferenceNotFound b']);
  });
});

describe('a large graph', () => {
  const NODES = 10_000;
  /** The number of errors after which the compiler ends. */
  const MAX_ERRORS = 1_000;
  const chain = Array.from({ length: NODES }, (_, i) =>
    taskNode(`n${i}`, TAKE, { a: i === 0 ? constant(1n) : promise(`n${i - 1}.o`) }),
  );
  const approvals = Array.from({ length: NODES }, (_, i) =>
    node(
      `n${i}`,
      { case: 'gateNode', value: { condition: { case: 'approve', value: {} } } },
      { v: i === 0 ? constant(1n) : promise(`n${i - 1}.v`) },
    ),
  );
  const wide = [
    ...Array.from({ length: NODES - 1 }, (_, i) => taskNode(`n${i}`, MAKE)),
    taskNode('all', 'integers l >', { l: many(...Array.from({ length: NODES - 1 }, (_, i) => promise(`n${i}.o`))) }),
  ];
  const doubling = Array.from({ length: NODES }, (_, i) => {
    const before = promise(`n${i - 1}.v`);
    const value = i === 0 ? constant(1n) : many(before, many(before), constant('x'));
    return node(`n${i}`, { case: 'gateNode', value: { condition: { case: 'approve', value: {} } } }, { v: value });
  });
  const cycle = [...chain.slice(1), taskNode('n0', TAKE, { a: promise(`n${NODES - 1}.o`) })];

  test.each([
    ['a chain', chain, 0],
    ['a chain, last first', chain.toReversed(), 0],
    ['a chain of approvals', approvals.toReversed(), 0],
    ['a star', wide, 0],
    ['types that double from node to node', doubling, 1],
    ['a cycle', cycle, 1],
    ['ten thousand faults', chain.map((each) => ({ ...each, upstreamNodeIds: ['none'] })), MAX_ERRORS],
  ])(
    'of ten thousand nodes compiles or is refused within two seconds of processor time: %s',
    { timeout: 20_000 },
    (_, nodes, errors) => {
      const template = workflow(nodes);
      const [result, spentMs] = timed(() => compile(template));
      expect(spentMs).toBeLessThan(2000);
      expect('errors' in result ? result.errors.length : 0).toBe(errors);
      if ('errors' in result) expect(collectedErrors(result.errors).length).toBeLessThan(20_000);
    },
  );
});

describe('a topological order', () => {
  const graphs = fc
    .integer({ min: 1, max: 12 })
    .chain((size) =>
      fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 20 }).map((pairs) => ({ size, pairs })),
    )
    .map(({ size, pairs }) => {
      const graph = new Map<string, Set<string>>(Array.from({ length: size }, (_, i) => [String(i), new Set()]));
      for (const [a, b] of pairs) graph.get(String(a))!.add(String(b));
      return graph;
    });

  test('has each node after those that it waits for; without an order there is a real cycle', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const { sorted, cycle } = topologicalOrder(graph);
        const place = new Map(sorted.map((id, index) => [id, index]));
        for (const [index, id] of sorted.entries())
          for (const each of graph.get(id)!) expect(place.get(each)).toBeLessThan(index);
        if (cycle === undefined) expect(sorted).toHaveLength(graph.size);
        else {
          expect(cycle[0]).toBe(cycle.at(-1));
          expect(cycle.length).toBeGreaterThan(1);
          for (const [index, id] of cycle.slice(1).entries()) expect(graph.get(id)).toContain(cycle[index]);
        }
      }),
    );
  });
});
