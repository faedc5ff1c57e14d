import { type DescMessage, type DescMethodUnary, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../../support/requests/fixtures.js';
import { launchHello, literal } from '../../support/requests/hello.js';
import { PLACE } from '../../support/requests/registrations.js';
import { type ExecutionId, HELLO_TASK } from '../../support/requests/reports.js';
import { expectShown, node, ok, task, runSteps } from '../../support/requests/report-steps.js';

const { method } = AdminService;

let plane: ControlPlane;
/** An execution with a failed node `n0`, whose task failed in two attempts, and a running node `n1` of two tasks. */
let ran: ExecutionId;

/** Longer than the 100 bytes of an error that a list of nodes has. */
const LONG = 'x'.repeat(300);
const failure = { outputResult: { case: 'error', value: { code: 'OOM', message: LONG } } } as const;
const OTHER_TASK = { ...HELLO_TASK, version: 'v2' };
const inputs = { inputValue: { case: 'inputData', value: { literals: { name: literal('Ada') } } } } as const;
const LINK = { name: 'pod', uri: 's3://logs' };

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  ran = await launchHello(plane.grpc, 'ran');
  const ofN1 = { parentNodeExecutionId: { executionId: ran, nodeId: 'n1' } };
  await runSteps(plane, 'grpc', ran, [
    ok(node('RUNNING', inputs)),
    ok(task('FAILED', failure)),
    ok(task('FAILED', { retryAttempt: 1, ...inputs, ...failure, logs: [LINK] })),
    ok(node('FAILED', { ...failure, deckUri: 's3://b/d' })),
    ok(node('RUNNING', {}, 'n1')),
    ok(task('RUNNING', ofN1)),
    ok(task('RUNNING', { ...ofN1, taskId: OTHER_TASK })),
    ok(node('RUNNING', { parentNodeMetadata: { nodeId: 'n1' } }, 'n1-0-n0')),
  ]);
});
afterAll(() => plane.close());

/** An RPC and its request. */
type Ask<Desc extends DescMessage = DescMessage> = readonly [
  method: DescMethodUnary<Desc>,
  request: MessageInitShape<Desc>,
];
const ask = <Desc extends DescMessage>(rpc: DescMethodUnary<Desc>, request: MessageInitShape<Desc>): Ask =>
  [rpc, request] as never;

/**
 * A rule of a read, and a request that breaks it; the refusal has the text `says`, and by default INVALID_ARGUMENT.
 */
type Refused = { readonly rule: string; readonly asked: () => Ask; readonly code?: string; readonly says: string };

const PARTS = ['project', 'domain', 'name'] as const;

/** A version of the task of `01-hello`. */
const GREET_V1 = { ...PLACE, name: 'hello.greet', version: 'v1' };
/** The rules of GetTask or GetWorkflow; `type` is its resource type in refusals, `other` one that it does not take. */
const ofVersions = ([rpc, type, other]: readonly [
  typeof method.getTask | typeof method.getWorkflow,
  string,
  ResourceType,
]): readonly Refused[] => [
  { rule: `${rpc.name}: an id`, asked: () => ask(rpc, {}), says: 'missing id' },
  ...[...PARTS, 'version' as const].map((part) => ({
    rule: `${rpc.name}: a ${part} in the id`,
    asked: () => ask(rpc, { id: { ...GREET_V1, [part]: '' } }),
    says: `missing ${part}`,
  })),
  {
    rule: `${rpc.name}: an id of its own resource type`,
    asked: () => ask(rpc, { id: { ...GREET_V1, resourceType: other } }),
    says: 'unexpected resource type',
  },
  {
    rule: `${rpc.name}: a version that exists`,
    asked: () => ask(rpc, { id: { ...GREET_V1, version: 'v9' } }),
    code: 'NOT_FOUND',
    says: `missing entity of type ${type} with identifier`,
  },
];

type NodeRead =
  | typeof method.getNodeExecution
  | typeof method.getNodeExecutionData
  | typeof method.getDynamicNodeWorkflow;

/** The rules of a read of one node. */
const ofNodes = (rpc: NodeRead): readonly Refused[] => {
  const asking = (id: object | undefined) => () => ask(rpc as typeof method.getNodeExecution, id ? { id } : {});
  return [
    { rule: `${rpc.name}: an id`, asked: asking(undefined), says: 'missing id' },
    { rule: `${rpc.name}: an execution`, asked: asking({ nodeId: 'n0' }), says: 'missing execution_id' },
    { rule: `${rpc.name}: a node`, asked: () => asking({ executionId: ran })(), says: 'missing node_id' },
    ...PARTS.map((part) => ({
      rule: `${rpc.name}: a ${part} of the execution`,
      asked: () => asking({ nodeId: 'n0', executionId: { ...ran, [part]: '' } })(),
      says: `missing ${part}`,
    })),
    {
      rule: `${rpc.name}: a node that exists`,
      asked: () => asking({ nodeId: 'n9', executionId: ran })(),
      code: 'NOT_FOUND',
      says: 'missing entity of type node execution',
    },
    {
      rule: `${rpc.name}: an execution that exists`,
      asked: asking({ nodeId: 'n0', executionId: { ...PLACE, name: 'unknown' } }),
      code: 'NOT_FOUND',
      says: 'missing entity of type node execution',
    },
  ];
};

/** The id of the first attempt of the task of node `n0`, with some fields replaced. */
const attempt = (more: object = {}) => ({
  taskId: HELLO_TASK,
  nodeExecutionId: { executionId: ran, nodeId: 'n0' },
  retryAttempt: 0,
  ...more,
});

type TaskRead = typeof method.getTaskExecution | typeof method.getTaskExecutionData;

/** The rules of a read of one attempt of a task. */
const ofTasks = (rpc: TaskRead): readonly Refused[] => {
  const asking = (id: object) => ask(rpc as typeof method.getTaskExecution, { id });
  return [
    { rule: `${rpc.name}: an id`, asked: () => ask(rpc as typeof method.getTaskExecution, {}), says: 'missing id' },
    {
      rule: `${rpc.name}: a node`,
      asked: () => asking({ taskId: HELLO_TASK }),
      says: 'missing node_execution_id',
    },
    {
      rule: `${rpc.name}: an id of the node`,
      asked: () => asking(attempt({ nodeExecutionId: { executionId: ran } })),
      says: 'missing node_id',
    },
    {
      rule: `${rpc.name}: an execution of the node`,
      asked: () => asking(attempt({ nodeExecutionId: { nodeId: 'n0' } })),
      says: 'missing execution_id',
    },
    ...PARTS.map((part) => ({
      rule: `${rpc.name}: a ${part} of the execution`,
      asked: () => asking(attempt({ nodeExecutionId: { nodeId: 'n0', executionId: { ...ran, [part]: '' } } })),
      says: `missing ${part}`,
    })),
    ...[...PARTS, 'version' as const].map((part) => ({
      rule: `${rpc.name}: a ${part} in the task id`,
      asked: () => asking(attempt({ taskId: { ...HELLO_TASK, [part]: '' } })),
      says: `missing ${part}`,
    })),
    {
      rule: `${rpc.name}: a task id of resource type TASK`,
      asked: () => asking(attempt({ taskId: { ...HELLO_TASK, resourceType: ResourceType.WORKFLOW } })),
      says: 'unexpected resource type',
    },
    {
      rule: `${rpc.name}: a task id when the node has several tasks`,
      asked: () => asking({ nodeExecutionId: { executionId: ran, nodeId: 'n1' } }),
      says: 'missing task_id',
    },
    {
      rule: `${rpc.name}: an attempt that exists`,
      asked: () => asking(attempt({ retryAttempt: 9 })),
      code: 'NOT_FOUND',
      says: 'missing entity of type task execution',
    },
  ];
};

/** The rules of lists. */
const ofLists: readonly Refused[] = [
  {
    rule: 'ListNodeExecutions: an execution',
    asked: () => ask(method.listNodeExecutions, {}),
    says: 'missing execution_id',
  },
  ...PARTS.map((part) => ({
    rule: `ListNodeExecutions: a ${part} of the execution`,
    asked: () => ask(method.listNodeExecutions, { workflowExecutionId: { ...ran, [part]: '' } }),
    says: `missing ${part}`,
  })),
  {
    rule: 'ListNodeExecutions: a parent that exists',
    asked: () => ask(method.listNodeExecutions, { workflowExecutionId: ran, uniqueParentId: 'n9' }),
    code: 'NOT_FOUND',
    says: 'missing entity of type node execution',
  },
  {
    rule: 'ListTaskExecutions: a node',
    asked: () => ask(method.listTaskExecutions, {}),
    says: 'missing node_execution_id',
  },
  {
    rule: 'ListTaskExecutions: an id of the node',
    asked: () => ask(method.listTaskExecutions, { nodeExecutionId: { executionId: ran } }),
    says: 'missing node_id',
  },
  {
    rule: 'ListTaskExecutions: an execution of the node',
    asked: () => ask(method.listTaskExecutions, { nodeExecutionId: { nodeId: 'n0' } }),
    says: 'missing execution_id',
  },
  ...([method.listTasks, method.listWorkflows, method.listLaunchPlans] as const).flatMap((rpc) => [
    { rule: `${rpc.name}: an id`, asked: () => ask(rpc, {}), says: 'missing' },
    { rule: `${rpc.name}: a project`, asked: () => ask(rpc, { id: { domain: 'd' } }), says: 'missing project' },
    { rule: `${rpc.name}: a domain`, asked: () => ask(rpc, { id: { project: 'p' } }), says: 'missing domain' },
  ]),
];

const REFUSED: readonly Refused[] = [
  ...ofVersions([method.getTask, 'TASK', ResourceType.WORKFLOW]),
  ...ofVersions([method.getWorkflow, 'WORKFLOW', ResourceType.TASK]),
  ...ofNodes(method.getNodeExecution),
  ...ofNodes(method.getNodeExecutionData),
  ...ofNodes(method.getDynamicNodeWorkflow),
  ...ofTasks(method.getTaskExecution),
  ...ofTasks(method.getTaskExecutionData),
  ...ofLists,
];

describe('reads require', () => {
  it.each(REFUSED)('$rule', async ({ asked, code = 'INVALID_ARGUMENT', says }) => {
    const answer = await plane.grpc.attempt(...asked());
    // A message may name the missing field with its parent fields, such as `missing id.project`.
    const text = new RegExp(says.replace('missing ', String.raw`missing (?:\w+\.)*`), 'u');
    expect([answer.code, answer.message]).toEqual([code, expect.stringMatching(text)]);
  });

  // A REST path with a segment of the identifier missing is another path.
  it.each(REFUSED.filter(({ code }) => code === 'NOT_FOUND'))('over REST, too: $rule', async ({ asked, says }) => {
    const answer = await plane.rest.attempt(...asked());
    expect([answer.code, answer.message]).toEqual(['NOT_FOUND', expect.stringContaining(says)]);
  });
});

describe.each(['grpc', 'rest'] as const)('over %s', (way) => {
  const nodeId = () => ({ executionId: ran, nodeId: 'n0' });

  describe('a task', () => {
    const sent = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));

    it.each([ResourceType.TASK, ResourceType.UNSPECIFIED])(
      'is found with and without a resource type in its id: %i',
      async (type) => {
        const found = await plane[way].call(method.getTask, { id: { ...GREET_V1, resourceType: type } });
        expect(found.id).toMatchObject({ ...GREET_V1, resourceType: ResourceType.TASK });
        expect(found.closure!.compiledTask!.template!.interface).toEqual(sent.spec!.template!.interface);
        expect(found.closure!.createdAt).toBeDefined();
      },
    );

    it('is listed as GetTask answers it', async () => {
      const found = await plane[way].call(method.getTask, { id: GREET_V1 });
      const { tasks } = await plane[way].call(method.listTasks, { id: { ...PLACE, name: GREET_V1.name } });
      expect(tasks).toEqual([found]);
    });
  });

  describe('a workflow', () => {
    const id = { ...PLACE, name: 'hello.hello', version: 'v1' };
    const sent = fromBinary(WorkflowCreateRequestSchema, fixtureBytes('01-hello/002-workflow.create_request.pb'));

    it('is found compiled, with its tasks', async () => {
      const { closure, id: found } = await plane[way].call(method.getWorkflow, { id });
      expect(found).toMatchObject({ ...id, resourceType: ResourceType.WORKFLOW });
      const { primary, tasks } = closure!.compiledWorkflow!;
      expect(primary!.template!.nodes.map((each) => each.id)).toEqual(['start-node', 'end-node', 'n0']);
      expect(primary!.template!.interface).toEqual(sent.spec!.template!.interface);
      expect(tasks.map((each) => each.template!.id!.name)).toEqual([GREET_V1.name]);
    });

    it('is listed with its interface and its time of creation, without nodes, tasks and connections', async () => {
      const whole = await plane[way].call(method.getWorkflow, { id });
      const { workflows } = await plane[way].call(method.listWorkflows, { id: { ...PLACE, name: id.name } });
      expect(workflows).toHaveLength(1);
      const { closure } = workflows[0]!;
      expect(closure!.createdAt).toEqual(whole.closure!.createdAt);
      const { primary, tasks } = closure!.compiledWorkflow!;
      expect(primary!.template!.interface).toEqual(sent.spec!.template!.interface);
      expect([primary!.template!.nodes, tasks, primary!.connections]).toEqual([[], [], undefined]);
    });
  });

  describe('a node', () => {
    it('is found with its whole error, and listed with 100 bytes of it', async () => {
      const { closure } = await plane[way].call(method.getNodeExecution, { id: nodeId() });
      expect(closure!.outputResult).toMatchObject({ value: { message: LONG } });
      const list = await plane[way].call(method.listNodeExecutions, { workflowExecutionId: ran });
      const [listed] = list.nodeExecutions.filter(({ id }) => id!.nodeId === 'n0');
      expect(listed!.closure!.outputResult).toMatchObject({ value: { code: 'OOM', message: 'x'.repeat(100) } });
    });

    it.each<readonly [string, string]>([
      ['n0', 'flyte://v1/flytesnacks/development/ran/n0/d'],
      ['n1', ''],
    ])('has flyte URLs of its data, and of a deck where there is one: %s', async (of, deck) => {
      const data = await plane[way].call(method.getNodeExecutionData, { id: { ...nodeId(), nodeId: of } });
      const base = `flyte://v1/flytesnacks/development/ran/${of}`;
      expect(data.flyteUrls).toMatchObject({ inputs: `${base}/i`, outputs: `${base}/o`, deck });
    });

    it('has the inputs of its report, and no outputs when none were reported', async () => {
      const data = await plane[way].call(method.getNodeExecutionData, { id: nodeId() });
      expectShown(data, { fullInputs: inputs.inputValue.value, fullOutputs: undefined, dynamicWorkflow: undefined });
      expect(data).toMatchObject({ inputs: { url: '' }, outputs: { url: '' } });
    });

    it('without a dynamic workflow gets NOT_FOUND for it', async () => {
      const answer = await plane[way].attempt(method.getDynamicNodeWorkflow, { id: nodeId() });
      expect([answer.code, answer.message]).toEqual(['NOT_FOUND', 'node does not contain dynamic workflow']);
    });

    it.each<readonly [string, readonly string[]]>([
      ['', ['n0', 'n1']],
      ['n1', ['n1-0-n0']],
      ['n0', []],
    ])('is listed under its parent [%s]', async (uniqueParentId, ids) => {
      const list = await plane[way].call(method.listNodeExecutions, { workflowExecutionId: ran, uniqueParentId });
      expect(list.nodeExecutions.map(({ id }) => id!.nodeId).sort()).toEqual(ids);
    });

    it('is in no list of an execution that does not exist', async () => {
      const workflowExecutionId = { ...PLACE, name: 'unknown' };
      expect((await plane[way].call(method.listNodeExecutions, { workflowExecutionId })).nodeExecutions).toEqual([]);
    });
  });

  describe('an attempt of a task', () => {
    it.each([ResourceType.TASK, ResourceType.UNSPECIFIED])(
      'is found with and without a resource type in its task id: %i',
      async (type) => {
        const id = attempt({ taskId: { ...HELLO_TASK, resourceType: type }, retryAttempt: 1 });
        const found = await plane[way].call(method.getTaskExecution, { id });
        expect(found.id).toMatchObject({ retryAttempt: 1, taskId: HELLO_TASK });
        expect(found.closure!.outputResult).toMatchObject({ value: { message: LONG } });
      },
    );

    it('is listed with its whole error', async () => {
      const { taskExecutions } = await plane[way].call(method.listTaskExecutions, { nodeExecutionId: nodeId() });
      expect(taskExecutions.map(({ id }) => id!.retryAttempt).sort()).toEqual([0, 1]);
      for (const { closure, isParent } of taskExecutions) {
        expect(closure!.outputResult).toMatchObject({ value: { message: LONG } });
        expect(isParent).toBe(false);
      }
    });

    it('has flyte URLs of its data, and its log links', async () => {
      const data = await plane[way].call(method.getTaskExecutionData, { id: attempt({ retryAttempt: 1 }) });
      const base = 'flyte://v1/flytesnacks/development/ran/n0/1';
      expect(data.flyteUrls).toMatchObject({ inputs: `${base}/i`, outputs: `${base}/o`, deck: '' });
      expect(data.logs).toMatchObject([LINK]);
      expectShown(data, { fullInputs: inputs.inputValue.value, fullOutputs: undefined });
    });

    it('is in no list of a node that does not exist', async () => {
      const nodeExecutionId = { executionId: ran, nodeId: 'n9' };
      expect((await plane[way].call(method.listTaskExecutions, { nodeExecutionId })).taskExecutions).toEqual([]);
    });
  });
});

it('an attempt is found without a task id when its node has one task', async () => {
  const id = { nodeExecutionId: { executionId: ran, nodeId: 'n0' }, retryAttempt: 1 };
  expect((await plane.grpc.call(method.getTaskExecution, { id })).id!.taskId).toMatchObject(HELLO_TASK);
  expect((await plane.grpc.call(method.getTaskExecutionData, { id })).logs).toMatchObject([LINK]);
});
