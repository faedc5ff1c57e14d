import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executionsRoutes } from '../../../projections/executions/rpc.js';
import { nodeExecutionsRoutes } from '../../../projections/node-executions/rpc.js';
import { taskExecutionsRoutes } from '../../../projections/task-executions/rpc.js';
import { ExecutionState } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { ContentSchema } from '../../../proto/gen/platformidl/eventlog/content_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { openReads } from '../../support/views/run-views.js';
import { creation, id, node, openStream, task, taskId, workflow } from '../execution/reports.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

const { method } = AdminService;

const literals = (name: string) => create(LiteralMapSchema, { literals: { [name]: { hash: name } } });
const version = {
  resourceType: ResourceType.WORKFLOW,
  project: 'flytesnacks',
  domain: 'development',
  name: 'dynamic',
  version: 'v1',
};
const compiledWorkflow = { primary: { template: { id: version } } };

/**
 * The events of a run: a dynamic node n0 with a child and one task, a node n1 with two tasks; and of an archived run.
 */
const record = async () => {
  const inputs = create(ContentSchema, {
    content: { case: 'inline', value: toBinary(LiteralMapSchema, literals('given')) },
  });
  const run = openStream({ ...creation, created: create(ExecutionCreatedSchema, { id, spec: {}, inputs }) });
  const dynamic = {
    targetMetadata: { case: 'taskNodeMetadata', value: { dynamicWorkflow: { id: version, compiledWorkflow } } },
  } as const;
  const data = (name: string) => ({ outputResult: { case: 'outputData', value: literals(name) } }) as const;
  for (const command of [
    workflow('RUNNING', { second: 1 }),
    node('RUNNING', { second: 1, inputValue: { case: 'inputData', value: literals('in') }, deckUri: 's3://deck' }),
    node('DYNAMIC_RUNNING', { second: 2, ...dynamic }),
    node('QUEUED', { second: 3, node: 'child', parentNodeMetadata: { nodeId: 'n0' } }),
    task('RUNNING', { second: 3, inputValue: { case: 'inputData', value: literals('task-in') } }),
    task('SUCCEEDED', { second: 4, logs: [{ uri: 'http://log', name: 'log' }], ...data('task-out') }),
    node('SUCCEEDED', { second: 5, ...data('out') }),
    node('RUNNING', { second: 6, node: 'n1' }),
    task('QUEUED', { second: 6, node: 'n1' }),
    task('QUEUED', { second: 7, node: 'n1', taskId: { ...taskId, name: 'other' } }),
    workflow('SUCCEEDED', { second: 8, ...data('all') }),
  ]) {
    await run.refusal(command);
  }
  return [...run.recorded, ...archived()];
};

/** The events of an execution that is archived. */
const archived = () => {
  const other = { ...id, name: 'archived' };
  const created = create(ExecutionCreatedSchema, { id: other, spec: {} });
  const archive = {
    type: 'UpdateExecution',
    id,
    state: ExecutionState.EXECUTION_ARCHIVED,
    tags: undefined,
    principal: 'ada',
  } as const;
  const { recorded } = openStream({ ...creation, created }, archive);
  return recorded.map((event) => ({ ...event, stream: executionStream(other) }));
};

/** The events of an execution that is aborted after outputs of it, its node and its task were reported too early. */
const recordAborted = async () => {
  const run = openStream({ ...creation, created: create(ExecutionCreatedSchema, { id, spec: {} }) });
  const early = { outputResult: { case: 'outputData', value: literals('early') } } as const;
  for (const command of [
    workflow('RUNNING', { second: 1 }),
    node('RUNNING', { second: 1, ...early }),
    task('RUNNING', { second: 1, ...early }),
    workflow('SUCCEEDING', { second: 2, ...early }),
    workflow('ABORTED', { second: 3 }),
  ]) {
    await run.refusal(command);
  }
  return run.recorded;
};

const nodeId = { nodeId: 'n0', executionId: id };
const attempt = { nodeExecutionId: nodeId, taskId, retryAttempt: 0 };

describe('reads of a run', () => {
  let reads: Awaited<ReturnType<typeof openReads>>;
  beforeAll(async () => {
    reads = await openReads(await record(), (deps) => [
      ...executionsRoutes(deps),
      ...nodeExecutionsRoutes(deps),
      ...taskExecutionsRoutes(deps),
    ]);
  });
  afterAll(() => reads.close());

  it('answer an execution with its inputs and outputs', async () => {
    expect((await reads.ask(method.getExecution, { id })).id).toMatchObject(id);
    const data = await reads.ask(method.getExecutionData, { id });
    expect(data).toMatchObject({
      fullInputs: literals('given'),
      fullOutputs: literals('all'),
      inputs: {},
      outputs: {},
    });
  });

  it('answer a node with what its events carried', async () => {
    const data = await reads.ask(method.getNodeExecutionData, { id: nodeId });
    expect(data).toMatchObject({
      fullInputs: literals('in'),
      fullOutputs: literals('out'),
      dynamicWorkflow: { id: version, compiledWorkflow },
      flyteUrls: {
        inputs: 'flyte://v1/flytesnacks/development/run/n0/i',
        outputs: 'flyte://v1/flytesnacks/development/run/n0/o',
        deck: 'flyte://v1/flytesnacks/development/run/n0/d',
      },
    });
    expect(await reads.ask(method.getDynamicNodeWorkflow, { id: nodeId })).toMatchObject({ compiledWorkflow });
  });

  it('answer an attempt of a task with its data and log links', async () => {
    const data = await reads.ask(method.getTaskExecutionData, { id: attempt });
    expect(data).toMatchObject({
      fullInputs: literals('task-in'),
      fullOutputs: literals('task-out'),
      logs: [{ uri: 'http://log' }],
      flyteUrls: { inputs: 'flyte://v1/flytesnacks/development/run/n0/0/i', deck: '' },
    });
  });

  it('find the task of a node without the id of the task, if the node has only one', async () => {
    const { id: found } = await reads.ask(method.getTaskExecution, { id: { nodeExecutionId: nodeId } });
    expect(found!.taskId).toMatchObject(taskId);
    const two = { nodeExecutionId: { ...nodeId, nodeId: 'n1' } };
    await expect(reads.ask(method.getTaskExecution, { id: two })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('task_id') as string,
    });
  });

  it('list the nodes of the workflow, or those of one parent', async () => {
    const list = async (uniqueParentId: string) => {
      const request = { workflowExecutionId: id, uniqueParentId };
      const { nodeExecutions, token } = await reads.ask(method.listNodeExecutions, request);
      return [...nodeExecutions.map((each) => each.id!.nodeId), token];
    };
    expect(await list('')).toEqual(['n0', 'n1', '']);
    expect(await list('n0')).toEqual(['child', '']);
    await expect(list('unknown')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('list no nodes of an execution that is not there', async () => {
    const request = { workflowExecutionId: { ...id, name: 'unknown' } };
    expect((await reads.ask(method.listNodeExecutions, request)).nodeExecutions).toEqual([]);
  });

  it('list the attempts of a node, without their outputs', async () => {
    const { taskExecutions } = await reads.ask(method.listTaskExecutions, { nodeExecutionId: nodeId });
    expect(taskExecutions).toHaveLength(1);
    expect(taskExecutions[0]!.closure!.outputResult.case).toBeUndefined();
  });

  it('filter and page', async () => {
    const request = { workflowExecutionId: id, limit: 1, filters: 'value_in(phase,SUCCEEDED;ABORTED)' };
    const first = await reads.ask(method.listNodeExecutions, request);
    const second = await reads.ask(method.listNodeExecutions, { ...request, token: first.token });
    expect([...first.nodeExecutions, ...second.nodeExecutions].map((each) => each.id!.nodeId)).toEqual(['n0', 'n1']);
    expect(second.token).toBe('');
  });

  it('list executions by phase, and hide archived ones unless the state is asked for', async () => {
    const list = async (filters: string) => {
      const scope = { project: 'flytesnacks', domain: 'development' };
      const { executions } = await reads.ask(method.listExecutions, { id: scope, filters });
      return executions.map((each) => each.id!.name);
    };
    expect(await list('')).toEqual(['run']);
    expect(await list('eq(phase,SUCCEEDED)')).toEqual(['run']);
    expect(await list('eq(phase,QUEUED)')).toEqual([]);
    expect(await list(`eq(state,${ExecutionState.EXECUTION_ARCHIVED})`)).toEqual(['archived']);
  });

  it('name the missing entity', async () => {
    const unknownExecution = { ...id, name: 'unknown' };
    await expect(reads.ask(method.getExecution, { id: unknownExecution })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message:
        'missing entity of type execution with identifier project:"flytesnacks" domain:"development" name:"unknown"',
    });
    const node = reads.ask(method.getNodeExecution, { id: { ...nodeId, nodeId: 'unknown' } });
    await expect(node).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching('missing entity of type node execution') as string,
    });
    const unknown = reads.ask(method.getTaskExecution, { id: { ...attempt, retryAttempt: 7 } });
    await expect(unknown).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching('missing entity of type task execution') as string,
    });
    const dynamic = reads.ask(method.getDynamicNodeWorkflow, { id: { ...nodeId, nodeId: 'n1' } });
    await expect(dynamic).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it.each([
    ['getExecution', {}, 'missing id'],
    ['getExecution', { id: { project: 'p', domain: 'd' } }, 'missing name'],
    ['getExecutionData', { id: { domain: 'd', name: 'n' } }, 'missing project'],
    ['listExecutions', { id: { project: 'p' } }, 'missing domain'],
    ['getNodeExecution', { id: { nodeId: 'n0' } }, 'missing execution_id'],
    ['getNodeExecution', { id: { executionId: id } }, 'missing node_id'],
    ['getNodeExecutionData', { id: { nodeId: 'n0', executionId: { project: 'p' } } }, 'missing execution_id.domain'],
    ['getDynamicNodeWorkflow', {}, 'missing id'],
    ['listNodeExecutions', {}, 'missing execution_id'],
    ['listNodeExecutions', { workflowExecutionId: { project: 'p', domain: 'd' } }, 'missing execution_id.name'],
    ['listTaskExecutions', {}, 'missing node_execution_id'],
    ['getTaskExecution', { id: { taskId } }, 'missing node_execution_id'],
    ['getTaskExecutionData', { id: { ...attempt, taskId: { ...taskId, version: '' } } }, 'missing version'],
  ] as const)('refuse %s of %j: %s', async (name, request, message) => {
    await expect(reads.ask(method[name] as never, request as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message,
    });
  });
});

it('data of an aborted run have no outputs that GetExecution, GetNodeExecution and GetTaskExecution do not show', async () => {
  const reads = await openReads(await recordAborted(), (deps) => [
    ...executionsRoutes(deps),
    ...nodeExecutionsRoutes(deps),
    ...taskExecutionsRoutes(deps),
  ]);
  const shown = [
    await reads.ask(method.getExecution, { id }),
    await reads.ask(method.getNodeExecution, { id: nodeId }),
    await reads.ask(method.getTaskExecution, { id: attempt }),
  ];
  expect(shown.map(({ closure }) => closure!.outputResult.case)).toEqual(['abortMetadata', 'error', 'error']);
  const data = [
    await reads.ask(method.getExecutionData, { id }),
    await reads.ask(method.getNodeExecutionData, { id: nodeId }),
    await reads.ask(method.getTaskExecutionData, { id: attempt }),
  ];
  expect(data.map(({ fullOutputs }) => fullOutputs)).toEqual([undefined, undefined, undefined]);
  await reads.close();
});
