import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { tasksRoutes } from '../../../projections/tasks/rpc.js';
import { CompiledTaskSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { TaskRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { taskCodec, taskStream } from '../../../services/task/events.js';
import { openReads } from '../../support/views/run-views.js';

const { method } = AdminService;
const scope = { project: 'flytesnacks', domain: 'development' };
const NAMES = ['greet', 'greet', 'count'];

const compiledOf = (name: string) =>
  create(CompiledTaskSchema, { template: { id: { ...scope, name }, type: 'python-task' } });

const registered = (name: string, index: number) => {
  const id = { resourceType: ResourceType.TASK, ...scope, name, version: `v${index}` };
  const data = create(TaskRegisteredSchema, {
    id,
    compiled: { content: { case: 'inline', value: toBinary(CompiledTaskSchema, compiledOf(name)) } },
    taskType: name === 'count' ? 'spark' : 'python-task',
  });
  return {
    id: new Uint8Array(16),
    ...taskCodec.encode({ type: 'TaskRegistered', data }),
    metadata: '{}',
    stream: taskStream(id),
    revision: 0n,
    position: BigInt(index + 1),
  };
};

describe('reads of tasks', () => {
  let reads: Awaited<ReturnType<typeof openReads>>;
  beforeAll(async () => {
    reads = await openReads(NAMES.map(registered), tasksRoutes);
  });
  afterAll(() => reads.close());

  it('answer a version, whose resource type may be left out', async () => {
    const task = await reads.ask(method.getTask, { id: { ...scope, name: 'greet', version: 'v0' } });
    expect(task.closure!.compiledTask).toEqual(compiledOf('greet'));
    expect(task.id).toMatchObject({ resourceType: ResourceType.TASK, name: 'greet', version: 'v0' });
  });

  it('list versions, the newest first, by name and by filters', async () => {
    const list = async (name: string, filters: string) => {
      const { tasks } = await reads.ask(method.listTasks, { id: { ...scope, name }, filters });
      return tasks.map(({ id }) => id!.version);
    };
    expect(await list('', '')).toEqual(['v2', 'v1', 'v0']);
    expect(await list('greet', '')).toEqual(['v1', 'v0']);
    expect(await list('', 'eq(type,spark)')).toEqual(['v2']);
    expect(await list('', 'contains(task.version,1)')).toEqual(['v1']);
  });

  it('list each name once, page by page', async () => {
    const first = await reads.ask(method.listTaskIds, { ...scope, limit: 1 });
    const second = await reads.ask(method.listTaskIds, { ...scope, limit: 1, token: first.token });
    expect([...first.entities, ...second.entities].map(({ name }) => name)).toEqual(['count', 'greet']);
    expect(second.token).toBe('');
  });

  it('refuse the identifier of another resource type', async () => {
    const id = { resourceType: ResourceType.WORKFLOW, ...scope, name: 'greet', version: 'v0' };
    await expect(reads.ask(method.getTask, { id })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
