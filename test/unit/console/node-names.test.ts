import { create, fromBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { namesOf } from '../../../console/execution/nodes/node-names.js';
import { NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import {
  type CompiledWorkflowClosure,
  CompiledWorkflowClosureSchema,
} from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { fixtureBytes } from '../../support/requests/fixtures.js';

/** The templates of a registered workflow in a compiled closure; names are read from nothing else in it. */
const closureOf = (path: string): CompiledWorkflowClosure => {
  const { spec } = fromBinary(WorkflowCreateRequestSchema, fixtureBytes(path));
  return create(CompiledWorkflowClosureSchema, {
    primary: { template: spec?.template ?? {} },
    subWorkflows: (spec?.subWorkflows ?? []).map((template) => ({ template })),
  });
};

/** Node executions, each with its id and its id in the workflow. */
const nodes = (...ids: readonly (readonly [id: string, specNodeId: string])[]) =>
  ids.map(([nodeId, specNodeId]) => create(NodeExecutionSchema, { id: { nodeId }, metadata: { specNodeId } }));

/** A workflow with nested workflows and a branch. */
const PIPELINE = closureOf('14-pipeline/011-workflow.create_request.pb');
/** A workflow of one node. */
const HELLO = closureOf('01-hello/002-workflow.create_request.pb');

describe('the names of nodes', () => {
  it('are those of the workflow, of nested workflows and of branches', () => {
    const children = new Map([
      ['', nodes(['n0', 'n0'], ['n2', 'n2'], ['n4', 'n4'], ['other', 'other'])],
      ['n2', nodes(['n2-0-n0', 'n0'])],
      ['n4', nodes(['n4-0-n0', 'n0'])],
    ]);
    const names = namesOf(children, PIPELINE, new Map());
    expect(Object.fromEntries(names)).toEqual({
      n0: 'read_activity',
      n2: 'search',
      n4: 'good-enough',
      'n2-0-n0': 'propose',
      'n4-0-n0': 'deploy',
    });
  });

  it('inside a dynamic node are those of the workflow that it generated', () => {
    const children = new Map([
      ['', nodes(['n0', 'n0'])],
      ['n0', nodes(['n0-0-n0', 'n0'])],
    ]);
    expect(namesOf(children, HELLO, new Map([['n0', HELLO]])).get('n0-0-n0')).toBe('greet');
    expect(namesOf(children, HELLO, new Map()).has('n0-0-n0')).toBe(false);
  });

  it('are none without a compiled workflow', () =>
    expect(namesOf(new Map([['', nodes(['n0', 'n0'])]]), create(CompiledWorkflowClosureSchema), new Map()).size).toBe(
      0,
    ));
});
