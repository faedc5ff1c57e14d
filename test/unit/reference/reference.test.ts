import { create, fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Project_ProjectState as State, ProjectSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { WorkflowMetadataSchema } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { lru } from '../../../services/kernel/lru.js';
import { registerSingleTaskPlan } from '../../../services/launch-plan/registration/single-task.js';
import { immutableCache } from '../../../services/reference/immutable-cache.js';
import { workflowCodec } from '../../../services/workflow/events.js';
import { registerSingleTaskWorkflow } from '../../../services/workflow/registration/single-task.js';
import { fixtureFolder } from '../../support/requests/fixtures.js';
import { openRegistry, type Registry } from '../../support/streams/registry.js';

describe('the directory of projects', () => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await openRegistry();
  });
  afterAll(() => registry.close());

  const kindOf = async (project: string, domain: string): Promise<string> =>
    (await registry.directory.statusOf(project, domain)).kind;

  it('tells an active project, an unknown domain and an unknown project apart', async () => {
    expect(await kindOf('flytesnacks', 'production')).toBe('active');
    expect(await kindOf('flytesnacks', 'moon')).toBe('unknown-domain');
    expect(await kindOf('nobody', 'moon')).toBe('unknown-project');
  });

  it('has a change of state as soon as this process has acknowledged it', async () => {
    for (let round = 0; round < 20; round += 1) {
      const state = round % 2 === 0 ? State.ARCHIVED : State.ACTIVE;
      await registry.ask('UpdateProject', ProjectSchema, { id: 'flytesnacks', state });
      expect(await kindOf('flytesnacks', 'staging')).toBe(state === State.ACTIVE ? 'active' : 'inactive');
    }
  });

  it('answers the labels of a project with the stream and revision that they were read at', async () => {
    const labels = { values: { team: 'geo' } };
    await registry.ask('UpdateProject', ProjectSchema, create(ProjectSchema, { id: 'flytesnacks', labels }));
    const { revision } = (await registry.events()).at(-1)!;
    expect(await registry.directory.statusOf('flytesnacks', 'staging')).toEqual({
      kind: 'active',
      labels: { team: 'geo' },
      read: { stream: 'project-flytesnacks', revision },
    });
  });
});

describe('definitions', () => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await openRegistry();
  });
  afterAll(() => registry.close());

  it('of a task are found once it is registered, also after a read that found none', async () => {
    const task = fixtureFolder('01-hello').entries[0]!;
    const id = { ...task.id, name: task.id.name!, version: task.id.version! };
    expect(await registry.definitions.task(id)).toBeUndefined();
    await registry.send(task.method, task.bytes);
    const found = await registry.definitions.task(id);
    expect(found?.template?.id).toMatchObject({ name: id.name });
    expect(await registry.definitions.task(id)).toBe(found);
  });

  it('of a large workflow are read from the payload store', async () => {
    const [task, workflow] = fixtureFolder('01-hello').entries;
    await registry.send(task!.method, task!.bytes).catch(() => undefined);
    const request = fromBinary(WorkflowCreateRequestSchema, workflow!.bytes);
    const tags = { note: 'x'.repeat(100_000) };
    request.spec!.template!.metadata = create(WorkflowMetadataSchema, { tags });
    await registry.ask('CreateWorkflow', WorkflowCreateRequestSchema, request);
    const { type, data } = (await registry.events()).at(-1)!;
    expect(workflowCodec.decode(type, data, 1).data.compiled?.content.case).toBe('ref');
    const closure = await registry.definitions.compiledWorkflow(request.id!);
    expect(closure?.primary?.template?.metadata?.tags).toEqual(tags);
  });

  it('of the workflow and launch plan that run a single task are registered once', async () => {
    const task = await registry.definitions.task({
      ...fixtureFolder('01-hello').entries[0]!.id,
      name: fixtureFolder('01-hello').entries[0]!.id.name!,
      version: fixtureFolder('01-hello').entries[0]!.id.version!,
    });
    const services = { sessions: registry.sessions, projects: registry.directory };
    const context = { actor: '', commandId: 'single' };
    const before = (await registry.events()).length;
    for (const _time of [1, 2]) {
      const id = await registerSingleTaskWorkflow(services, task!, context);
      await registerSingleTaskPlan(registry.sessions, task!, id, context);
      expect(id.name).toBe(`.flytegen.${task!.template!.id!.name}`);
      const plan = await registry.definitions.launchPlan(id);
      expect(Object.keys(plan!.expectedInputs.parameters)).toEqual(
        Object.keys(task!.template!.interface!.inputs!.variables).sort(),
      );
    }
    expect(await registry.events()).toHaveLength(before + 2);
  });
});

describe('a bounded cache', () => {
  it('evicts the entry that was used longest ago, and keeps none that is larger than the bound', () => {
    const memory = lru<string, number>(3); // the sum of the sizes; an entry has the size 1 unless it is given
    memory.set('a', 1);
    memory.set('b', 2, 2);
    expect(memory.get('a')).toBe(1);
    memory.set('c', 3);
    expect([memory.get('a'), memory.get('b'), memory.get('c')]).toEqual([1, undefined, 3]);
    memory.set('huge', 4, 4);
    expect([memory.get('huge'), memory.get('a')]).toEqual([undefined, 1]);
    memory.delete('a');
    expect(memory.get('a')).toBeUndefined();
  });

  it('reads once for concurrent callers, and again after a read that found nothing or failed', async () => {
    const cache = immutableCache(1_000);
    let reads = 0;
    const read = (value: string | undefined) => () => {
      reads += 1;
      return Promise.resolve(value === undefined ? undefined : { value, bytes: 1 });
    };
    expect(await cache.get('a', read(undefined))).toBeUndefined();
    expect(await Promise.all([cache.get('a', read('x')), cache.get('a', read('y'))])).toEqual(['x', 'x']);
    expect(await cache.get('a', read('z'))).toBe('x');
    expect(reads).toBe(2);
    await expect(cache.get('b', () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    expect(await cache.get('b', read('found'))).toBe('found');
  });
});
