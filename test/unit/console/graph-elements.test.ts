import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import { drawnNodesOf, elementsOf } from '../../../console/graph/elements.js';
import { CompiledWorkflowSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { type Node, NodeSchema } from '../../../proto/gen/platformidl/core/workflow_pb.js';

const task = (id: string): Node => create(NodeSchema, { id, target: { case: 'taskNode', value: {} } });

const branch = (id: string, thenNode: Node, elseNode: Node): Node =>
  create(NodeSchema, {
    id,
    target: {
      case: 'branchNode',
      value: { ifElse: { case: { thenNode }, default: { case: 'elseNode', value: elseNode } } },
    },
  });

it('the graph of a workflow has the nodes of a branch inside a branch, with lines to them', () => {
  const inner = branch('n1-n0', task('n1-n0-a'), task('n1-n0-b'));
  const workflow = create(CompiledWorkflowSchema, {
    template: { nodes: [task('n0'), branch('n1', inner, task('n1-n1'))] },
    connections: { downstream: { n0: { ids: ['n1'] } } },
  });
  const { nodes, lines } = elementsOf(workflow);
  const ids = ['n0', 'n1', 'n1-n0', 'n1-n0-a', 'n1-n0-b', 'n1-n1'];
  expect(nodes.map(({ id }) => id)).toEqual(ids);
  expect(drawnNodesOf(workflow).map(({ id }) => id)).toEqual(ids);
  expect(lines.map(({ from, to }) => `${from} ${to}`)).toEqual([
    'n1 n1-n0',
    'n1 n1-n1',
    'n1-n0 n1-n0-a',
    'n1-n0 n1-n0-b',
    'n0 n1',
  ]);
});
