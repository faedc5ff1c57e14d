import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  InactiveProjectSchema,
  Project_ProjectState as State,
  ProjectRegisterRequestSchema,
  ProjectSchema,
} from '../../../proto/gen/platformidl/admin/project_pb.js';
import { GetVersionRequestSchema } from '../../../proto/gen/platformidl/admin/version_pb.js';
import type { RpcError } from '../../../services/kernel/rpc.js';
import { projectAggregate } from '../../../services/project/decider.js';
import { projectStream } from '../../../services/project/events.js';
import { fixtureFolder } from '../../support/requests/fixtures.js';
import { openRegistry, type Registry } from '../../support/streams/registry.js';

describe('projects over the interface', () => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await openRegistry();
  });
  afterAll(() => registry.close());

  type ProjectFields = MessageInitShape<typeof ProjectSchema>;
  const register = (project?: ProjectFields): Promise<unknown> =>
    registry.ask('RegisterProject', ProjectRegisterRequestSchema, project ? { project: project as never } : {});
  const update = (project: ProjectFields): Promise<unknown> => registry.ask('UpdateProject', ProjectSchema, project);
  const good = { id: 'atlas', name: 'Atlas' };

  it.each([
    ['no project', undefined, 'missing project'],
    ['no name', { id: 'atlas' }, 'missing project_name'],
    ['no id', { name: 'Atlas' }, 'missing project_id'],
    ['an id in upper case', { ...good, id: 'Atlas' }, 'invalid project id [Atlas]'],
    ['an id of 64 characters', { ...good, id: 'a'.repeat(64) }, 'invalid project id'],
    ['an id that ends with a hyphen', { ...good, id: 'atlas-' }, 'invalid project id'],
    ['a name of 65 bytes', { ...good, name: `${'ä'.repeat(32)}b` }, 'project_name cannot exceed 64'],
    ['a name of two lines', { ...good, name: 'At\nlas' }, 'invalid value for project_name: control characters'],
    [
      'a name that is shown from right to left',
      { ...good, name: 'At\u202elas' },
      'invalid value for project_name: control',
    ],
    ['a long description', { ...good, description: 'x'.repeat(301) }, 'project_description cannot exceed 300'],
    ['domains of its own', { ...good, domains: [{ id: 'development' }] }, 'domains'],
    ['a state that does not exist', { ...good, state: 9 as never }, 'invalid value for state'],
    ['a bad label', { ...good, labels: { values: { 'a b': '' } } }, 'invalid label key [a b]'],
  ])('a registration with %s is refused', async (_what, project, text) => {
    const before = await registry.store.head();
    await expect(register(project as ProjectFields)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(text) as string,
    });
    expect(await registry.store.head()).toBe(before);
  });

  it('are registered once, and the answer has the position in the log', async () => {
    await register({ ...good, id: 'borders', name: 'x'.repeat(64), org: 'ignored' });
    expect(registry.answeredAt()).toBe(await registry.store.head());
    await expect(register({ ...good, id: 'borders' })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: 'project [borders] already exists',
    });
  });

  it('are not updated when they are not registered', async () => {
    await expect(update({ id: 'unknown', description: 'x'.repeat(301) })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'project [unknown] not found',
    });
    await expect(update({ name: 'x' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'missing project_id',
    });
  });

  it('of an earlier release are updated, also with an id and a name that are refused now', async () => {
    const old = create(ProjectSchema, { id: 'Of A\u001bRelease', name: 'Be\nfore' });
    const command = { type: 'RegisterProject', project: old } as const;
    await registry.sessions.handle(projectAggregate, projectStream(old.id), command, { actor: 'ada', commandId: 'b' });
    await update({ id: old.id, name: old.name, description: 'updated' });
    await update({ id: old.id, description: 'updated again' });
    const updates = (await registry.events()).filter(({ type }) => type === 'ProjectUpdated');
    expect(updates.map(({ data }) => Buffer.from(data).includes('updated'))).toEqual([true, true]);
    await expect(update({ id: old.id, name: 'An\nother' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('admit registrations only while they are active', async () => {
    const [task] = fixtureFolder('01-hello').entries;
    await update({ id: 'flytesnacks', state: State.SYSTEM_ARCHIVED });
    const refusal = (await registry.send('CreateTask', task!.bytes).catch((error: unknown) => error)) as RpcError;
    expect([refusal.code, refusal.message]).toEqual(['INVALID_ARGUMENT', 'project [flytesnacks] is not active']);
    expect(refusal.details).toEqual([
      { schema: InactiveProjectSchema, message: create(InactiveProjectSchema, { id: 'flytesnacks' }) },
    ]);
    await update({ id: 'flytesnacks' });
    await registry.send('CreateTask', task!.bytes);
  });

  it('have the domains of the configuration, and the release says its version', async () => {
    expect(await registry.ask('GetVersion', GetVersionRequestSchema, {})).toMatchObject({
      controlPlaneVersion: { Build: 'b', Version: 'v', BuildTime: 't' },
    });
    // The request of GetDomains is as empty as that of GetVersion.
    expect(await registry.ask('GetDomains', GetVersionRequestSchema, {})).toMatchObject({
      domains: [
        { id: 'development', name: 'development' },
        { id: 'staging', name: 'staging' },
        { id: 'production', name: 'production' },
      ],
    });
  });
});
