import { create, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { DescriptionEntitySchema } from '../../../proto/gen/platformidl/admin/description_entity_pb.js';
import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { Resources_ResourceName, ResourcesSchema } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { taskAggregate } from '../../../services/task/decider.js';
import { taskStream } from '../../../services/task/events.js';
import { taskRegistration } from '../../../services/task/registration/task.js';
import { fixtureFolder } from '../../support/requests/fixtures.js';
import { openRegistry, type Registry } from '../../support/streams/registry.js';

type Request = MessageShape<typeof TaskCreateRequestSchema>;

/** The first task of the fixtures, under another name and with other changes. */
const task = (name: string, change: (request: Request) => void = () => undefined): Request => {
  const [first] = fixtureFolder('01-hello').entries;
  const request = fromBinary(TaskCreateRequestSchema, first!.bytes);
  request.id!.name = name;
  change(request);
  return request;
};

describe('registrations of tasks', () => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await openRegistry({
      taskTypes: { spark: [{ project: 'flytesnacks', domain: 'production' }], any: [{ project: '', domain: '' }] },
      taskLimits: { cpu: '2', memory: '1Gi' },
    });
  });
  afterAll(() => registry.close());
  const send = (request: Request): Promise<unknown> => registry.ask('CreateTask', TaskCreateRequestSchema, request);

  it('answer with the identifier that was registered', async () => {
    const request = task('answered');
    expect(await send(request)).toMatchObject({ id: { ...request.id!, org: '' } });
    expect(registry.answeredAt()).toBe(await registry.store.head());
  });

  it('are stored under the id of the request, whatever the template says', async () => {
    const request = task('renamed', ({ spec }) => (spec!.template!.id!.name = 'something else'));
    await send(request);
    const stored = await registry.definitions.task(request.id!);
    expect(stored?.template?.id?.name).toBe('renamed');
  });

  it.each([
    ['name', 'a\u0000b'],
    ['name', 'a\u001b[2Jb'],
    ['version', 'a\u202eb'],
    ['version', 'a\u2028b'],
  ] as const)('are refused with a %s of %j', async (field, text) => {
    await expect(send(task('hostile', ({ id }) => (id![field] = text)))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: `invalid value for id.${field}: control characters are not allowed`,
    });
  });

  it('of an earlier release still exist, also with a name that is refused now', async () => {
    const old = task('of a\u001brelease before');
    const id = { ...old.id!, resourceType: ResourceType.TASK } as const;
    const command = taskRegistration(id, old, { taskTypes: {}, limits: {} });
    await registry.sessions.handle(taskAggregate, taskStream(id), command, { actor: 'ada', commandId: 'before' });
    await expect(send(old)).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: expect.stringContaining('identical structure') as string,
    });
    const other = task(id.name, ({ spec }) => (spec!.template!.type = 'another'));
    await expect(send(other)).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: expect.stringContaining('different structure') as string,
    });
  });

  it('of a restricted type are accepted only in the projects and domains of the configuration', async () => {
    const spark = (name: string, domain: string) =>
      task(name, ({ id, spec }) => {
        id!.domain = domain;
        spec!.template!.type = 'spark';
      });
    await expect(send(spark('s', 'development'))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('must be whitelisted') as string,
    });
    await send(spark('s', 'production'));
    await send(task('any', ({ spec }) => (spec!.template!.type = 'any')));
  });

  it('may not ask for more CPU than the limit of the platform', async () => {
    const greedy = task('greedy', ({ spec }) => {
      const { target } = spec!.template!;
      if (target.case !== 'container') throw new Error('the recorded task runs in no container');
      const cpu = { name: Resources_ResourceName.CPU, value: '3' };
      target.value.resources = create(ResourcesSchema, { requests: [cpu] });
    });
    await expect(send(greedy)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('current limit set in the platform configuration') as string,
    });
  });

  it('of one task sent at the same time are one event', async () => {
    const request = task('raced');
    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => send(request)));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const events = await registry.events();
    expect(events.filter(({ stream }) => stream.includes(':raced:'))).toHaveLength(1);
  });

  it('that the client describes keep the description', async () => {
    const request = task('described', ({ spec }) => {
      spec!.description = create(DescriptionEntitySchema, { shortDescription: 'short' });
    });
    await send(request);
    const last = (await registry.events()).at(-1)!;
    expect(Buffer.from(last.data).includes('short')).toBe(true);
  });
});
