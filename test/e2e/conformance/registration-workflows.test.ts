import { clone, create, fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CreateWorkflowFailureReasonSchema,
  type WorkflowCreateRequest,
  WorkflowCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { type Node, NodeSchema } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { BindingDataSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../../support/requests/fixtures.js';
import { all, type Changed, expectRefused, type Row } from '../../support/requests/rows.js';

const { method } = AdminService;

const recordedWorkflow = fromBinary(
  WorkflowCreateRequestSchema,
  fixtureBytes('01-hello/002-workflow.create_request.pb'),
);

let plane: ControlPlane;
/** Workflows named so far; makes each name unique. */
let count = 0;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

/** A copy of the recorded workflow, under a new name. */
const workflow = (): WorkflowCreateRequest => {
  const request = clone(WorkflowCreateRequestSchema, recordedWorkflow);
  request.id!.name = `rows.workflow-${(count += 1)}`;
  return request;
};

const firstNode = (request: WorkflowCreateRequest): Node => request.spec!.template!.nodes[0]!;
const templateOf = (request: WorkflowCreateRequest) => request.spec!.template!;
/** The identifier of a definition that does not exist. */
const unknownReference = (resourceType: ResourceType) => ({
  ...{ resourceType, project: 'flytesnacks', domain: 'development', name: 'unknown', version: 'v1' },
  $typeName: 'platformidl.core.Identifier' as const,
  org: '',
});
const node = (id: string, more: Partial<Parameters<typeof create<typeof NodeSchema>>[1]>): Node =>
  create(NodeSchema, { id, ...more } as never);
const unknownWorkflowProject: Changed<WorkflowCreateRequest> = (r) => void (r.id!.project = 'nowhere');
const noWorkflowSpec: Changed<WorkflowCreateRequest> = (r) => {
  delete r.spec;
};
const noWorkflowName: Changed<WorkflowCreateRequest> = (r) => void (r.id!.name = '');
/** Binds the second input of the task, `times`, an integer, to a value. */
const bound = (value: object) => (request: WorkflowCreateRequest) => {
  firstNode(request).inputs[1]!.binding = create(BindingDataSchema, { value } as never);
};
/** The output of a node, or an input of the workflow when the node is ''. */
const promise = (nodeId: string, variable: string) => ({
  case: 'promise',
  value: { nodeId, var: variable, attrPath: [] },
});
const TEXT_VALUE = {
  case: 'scalar',
  value: { value: { case: 'primitive', value: { value: { case: 'stringValue', value: 'ten' } } } },
};

/** Invalid requests; rules with a 1 are checked before the workflow is compiled, the others by compiling it. */
const WORKFLOWS: readonly Row<typeof WorkflowCreateRequestSchema>[] = [
  {
    rule: '1: an id',
    change: (r) => {
      delete r.id;
    },
    says: 'missing id',
  },
  {
    rule: '1: an id of resource type WORKFLOW',
    change: (r) => void (r.id!.resourceType = ResourceType.TASK),
    says: 'resource type',
  },
  { rule: '1: a name in the id', change: noWorkflowName, says: 'missing name' },
  { rule: '1: a version in the id', change: (r) => void (r.id!.version = ''), says: 'missing version' },
  { rule: '1: a known project', change: unknownWorkflowProject, says: 'nowhere' },
  { rule: '1: a spec', change: noWorkflowSpec, says: 'missing spec' },
  {
    rule: '1: a template in the spec',
    change: (r) => {
      delete r.spec!.template;
    },
    says: 'missing spec.template',
  },
  { rule: 'at least one node', change: (r) => void (templateOf(r).nodes = []), says: 'Code: NoNodesFound' },
  { rule: 'a node with an id', change: (r) => void (firstNode(r).id = ''), says: 'the id of a node is required' },
  {
    rule: 'a node with a target',
    change: (r) => void (firstNode(r).target = { case: undefined }),
    says: 'the target of the node is required',
  },
  {
    rule: 'a task that exists',
    change: (r) =>
      void ((firstNode(r).target.value as { reference: { value: unknown } }).reference.value = unknownReference(
        ResourceType.TASK,
      )),
    says: 'Code: TaskReferenceNotFound',
  },
  {
    rule: 'a launch plan that exists',
    change: (r) =>
      void templateOf(r).nodes.push(
        node('n1', {
          target: {
            case: 'workflowNode',
            value: { reference: { case: 'launchplanRef', value: unknownReference(ResourceType.LAUNCH_PLAN) } },
          },
        } as never),
      ),
    says: 'Code: WorkflowReferenceNotFound',
  },
  {
    rule: 'a sub-workflow that is in the request',
    change: (r) =>
      void templateOf(r).nodes.push(
        node('n1', {
          target: {
            case: 'workflowNode',
            value: { reference: { case: 'subWorkflowRef', value: unknownReference(ResourceType.WORKFLOW) } },
          },
        } as never),
      ),
    says: 'Code: WorkflowReferenceNotFound',
  },
  {
    rule: 'a gate with a condition',
    change: (r) => void templateOf(r).nodes.push(node('n1', { target: { case: 'gateNode', value: {} } } as never)),
    says: 'Code: NoConditionFound',
  },
  {
    rule: 'a branch with a case',
    change: (r) => void templateOf(r).nodes.push(node('n1', { target: { case: 'branchNode', value: {} } } as never)),
    says: 'Code: BranchNodeHasNoCondition',
  },
  {
    rule: 'nodes without a cycle',
    change: (r) => void firstNode(r).upstreamNodeIds.push('n0'),
    says: 'Code: CycleDetected',
  },
  {
    rule: 'upstream nodes that exist',
    change: (r) => void firstNode(r).upstreamNodeIds.push('n9'),
    says: 'Code: NodeReferenceNotFound',
  },
  {
    rule: 'a binding of every input of the task',
    change: (r) => void firstNode(r).inputs.pop(),
    says: 'Code: ParameterNotBound',
  },
  {
    rule: 'one binding of every input of the task',
    change: (r) => void firstNode(r).inputs.push(firstNode(r).inputs[0]!),
    says: 'Code: ParameterBoundMoreThanOnce',
  },
  {
    rule: 'bindings of inputs that the task has',
    change: (r) => void (firstNode(r).inputs[0]!.var = 'unknown'),
    says: 'Code: VariableNameNotFound',
  },
  { rule: 'a binding to a node that exists', change: bound(promise('n9', 'o0')), says: 'Code: NodeReferenceNotFound' },
  {
    rule: 'a binding to an input of the workflow that exists',
    change: bound(promise('', 'nothing')),
    says: 'Code: VariableNameNotFound',
  },
  {
    rule: 'a binding to an input of the same type',
    change: bound(promise('', 'name')),
    says: 'Code: MismatchingTypes',
  },
  { rule: 'a binding to a value of the same type', change: bound(TEXT_VALUE), says: 'Code: MismatchingTypes' },
  {
    rule: 'a binding with a value',
    change: bound({ case: undefined }),
    says: 'a value of the binding is required',
  },
  {
    rule: 'a binding of every output of the workflow',
    change: (r) => void (templateOf(r).outputs = []),
    says: 'Code: ParameterNotBound',
  },
  {
    rule: 'an output of the type of its binding',
    change: (r) =>
      void (templateOf(r).interface!.outputs!.variables['o0']!.type!.type = {
        case: 'simple',
        value: SimpleType.INTEGER,
      }),
    says: 'Code: MismatchingTypes',
  },
];

/** Requests that break two rules; the refusal is that of the rule that is checked first. */
const ORDER: typeof WORKFLOWS = [
  {
    rule: 'the id before the project',
    change: all(noWorkflowName, unknownWorkflowProject),
    says: 'missing name',
  },
  { rule: 'the project before the spec', change: all(unknownWorkflowProject, noWorkflowSpec), says: 'nowhere' },
];

describe.each(['grpc', 'rest'] as const)('over %s', (transport) => {
  describe('CreateWorkflow requires', () => {
    it.each(WORKFLOWS)('$rule', async (row) => {
      await expectRefused(plane, transport, [method.createWorkflow, workflow], row);
    });
  });

  describe('CreateWorkflow checks in order:', () => {
    it.each(ORDER)('$rule', async (row) => {
      await expectRefused(plane, transport, [method.createWorkflow, workflow], row);
    });
  });

  it('a version that exists is ALREADY_EXISTS, and a detail says whether it is the same', async () => {
    const request = workflow();
    await plane[transport].call(method.createWorkflow, request);
    const answer = await plane.unchanged(() => plane[transport].attempt(method.createWorkflow, request));
    expect(answer.code).toBe('ALREADY_EXISTS');
    const reason = fromBinary(CreateWorkflowFailureReasonSchema, answer.details[0]!.value);
    expect(reason.reason.case).toBe('existsIdenticalStructure');
    firstNode(request).metadata!.name = 'greets otherwise';
    const other = await plane.unchanged(() => plane[transport].attempt(method.createWorkflow, request));
    expect(other.code).toBe('ALREADY_EXISTS');
    expect(fromBinary(CreateWorkflowFailureReasonSchema, other.details[0]!.value).reason.case).toBe(
      'existsDifferentStructure',
    );
  });
});
