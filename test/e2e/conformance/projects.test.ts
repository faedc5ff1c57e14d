import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Project_ProjectState as State, type ProjectSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest } from '../../support/requests/hello.js';
import { registerTask } from '../../support/requests/registrations.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;

type Project = Exclude<MessageInitShape<typeof ProjectSchema>, { $typeName: string }>;

/** The domains as the control plane shows them; a domain without a name has its id as name. */
const DOMAINS = [
  { id: 'development', name: 'Development' },
  { id: 'moon', name: 'moon' },
];

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ FLIGHTLOG_DOMAINS: '[{id: development, name: Development}, moon]' });
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('projects over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  const registered = async (id: string, project: Project = {}): Promise<void> => {
    await transport.call(method.registerProject, { project: { id, name: id, ...project } });
  };
  const get = (id: string) => transport.call(method.getProject, { id });
  const listed = async (filters = ''): Promise<readonly string[]> =>
    (await transport.call(method.listProjects, { filters })).projects.map(({ id }) => id);

  it('all have the domains of the configuration', async () => {
    const { domains } = await transport.call(method.getDomains, {});
    expect(domains).toMatchObject(DOMAINS);
    await registered(`domains-${way}`);
    expect((await get(`domains-${way}`)).domains).toMatchObject(DOMAINS);
    const { projects } = await transport.call(method.listProjects, {});
    for (const project of projects) expect(project.domains).toMatchObject(DOMAINS);
  });

  it('are registered with name, description, labels and state, and then read', async () => {
    const project = {
      name: 'Atlas',
      description: 'maps',
      labels: { values: { team: 'geo' } },
      state: State.SYSTEM_GENERATED,
    };
    await registered(`whole-${way}`, project);
    expect(await get(`whole-${way}`)).toMatchObject({ id: `whole-${way}`, ...project });
  });

  it('are registered once: the second time gets ALREADY_EXISTS', async () => {
    await registered(`once-${way}`);
    const again = () => transport.attempt(method.registerProject, { project: { id: `once-${way}`, name: 'other' } });
    expect(await plane.unchanged(again)).toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  const nameOf66Bytes = 'ä'.repeat(33);
  const labels17 = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`l${String(index)}`, '']));
  const values = (labels: Record<string, string>): Project => ({ labels: { values: labels } });

  /** Invalid fields of a project, with a text of the refusal. */
  const WRONG: readonly (readonly [string, Project, string])[] = [
    ['an id of upper-case letters', { id: 'Atlas' }, 'invalid project id [Atlas]'],
    ['an id of 64 letters', { id: 'a'.repeat(64) }, 'invalid project id'],
    ['an id that ends in a hyphen', { id: 'atlas-' }, 'invalid project id [atlas-]'],
    ['an id with a colon', { id: 'a:b' }, 'invalid project id [a:b]'],
    ['a name of 66 bytes', { name: nameOf66Bytes }, 'project_name cannot exceed 64 bytes'],
    ['a description of 301 bytes', { description: 'x'.repeat(301) }, 'project_description cannot exceed 300 bytes'],
    ['17 labels', values(labels17), 'labels map cannot exceed 16 entries'],
    ['an invalid label key', values({ 'a b': '' }), 'invalid label key [a b]'],
    ['an invalid label value', values({ a: '/' }), 'invalid label value [/]'],
    ['domains', { domains: [{ id: 'x', name: 'x' }] }, 'domains are system-wide'],
    ['a state that does not exist', { state: 9 as never }, 'invalid value for state'],
  ];

  it.each([
    ...WRONG,
    ['no name', { name: '' }, 'missing project_name'],
    ['no id', { id: '' }, 'missing project_id'],
  ] as const)('are not registered with %s', async (_what, wrong, text) => {
    const project: Project = { id: `wrong-${way}`, name: 'wrong', ...wrong };
    const { code, message } = await plane.unchanged(() => transport.attempt(method.registerProject, { project }));
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
  });

  it('are required in the request that registers them', async () => {
    expect(await transport.attempt(method.registerProject, {})).toMatchObject({ message: 'missing project' });
  });

  it.each(WRONG.filter(([, { id }]) => id === undefined))('are not updated with %s', async (_what, wrong, text) => {
    const id = `kept-${way}`;
    await registered(id).catch(() => undefined);
    const { code, message } = await plane.unchanged(() => transport.attempt(method.updateProject, { id, ...wrong }));
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
  });

  it('that are not there are neither read nor updated', async () => {
    expect(await transport.attempt(method.getProject, { id: 'unknown' })).toMatchObject({
      code: 'NOT_FOUND',
      message: 'project [unknown] not found',
    });
    const update = () => transport.attempt(method.updateProject, { id: 'unknown', name: 'x'.repeat(99) });
    expect(await plane.unchanged(update)).toMatchObject({ code: 'NOT_FOUND', message: 'project [unknown] not found' });
  });

  it('keep what an update leaves out, except the state', async () => {
    const id = `updated-${way}`;
    const labels = { values: { team: 'geo' } };
    await registered(id, { name: 'Atlas', description: 'maps', labels, state: State.ARCHIVED });
    await transport.call(method.updateProject, { id });
    expect(await get(id)).toMatchObject({ name: 'Atlas', description: 'maps', labels, state: State.ACTIVE });
    await transport.call(method.updateProject, { id, name: 'Globe', labels: { values: {} } });
    expect(await get(id)).toMatchObject({ name: 'Globe', description: 'maps' });
    expect((await get(id)).labels?.values).toEqual({});
  });

  it('in state ARCHIVED, and no other, are hidden in lists without a filter, and read by filter and id', async () => {
    for (const state of [State.ACTIVE, State.ARCHIVED, State.SYSTEM_GENERATED, State.SYSTEM_ARCHIVED])
      await registered(`state-${way}-${String(state)}`, { state });
    const own = (ids: readonly string[]) => ids.filter((id) => id.startsWith(`state-${way}`));
    expect(own(await listed())).toEqual(
      [State.ACTIVE, State.SYSTEM_GENERATED, State.SYSTEM_ARCHIVED].map((state) => `state-${way}-${String(state)}`),
    );
    const archived = `state-${way}-${String(State.ARCHIVED)}`;
    expect(own(await listed(`eq(state,${String(State.ARCHIVED)})`))).toEqual([archived]);
    expect(await listed(`eq(identifier,${archived})`)).toEqual([archived]);
    expect((await get(archived)).state).toBe(State.ARCHIVED);
  });

  it('are listed in the order of their ids, all of them where no limit is given', async () => {
    const ids = await listed();
    expect(ids).toEqual([...ids].sort());
    const { projects, token } = await transport.call(method.listProjects, { limit: 2 });
    expect([projects.map(({ id }) => id), token]).toEqual([ids.slice(0, 2), expect.stringMatching(/./u)]);
    expect((await transport.call(method.listProjects, {})).token).toBe('');
  });

  it.each(['ARCHIVED', 'SYSTEM_GENERATED', 'SYSTEM_ARCHIVED'] as const)(
    'in state %s take neither registrations nor executions until they are active again',
    async (name) => {
      const state = State[name];
      const project = `closed-${way}-${String(state)}`;
      await registered(project, { state });
      const launch = () => transport.attempt(method.createExecution, { ...helloRequest('run'), project });
      const { code, message, details } = await plane.unchanged(launch);
      expect([code, message]).toEqual(['INVALID_ARGUMENT', `project [${project}] is not active`]);
      expect(details.map(({ typeUrl }) => typeUrl)).toEqual([expect.stringContaining('admin.InactiveProject')]);
      const task = () => registerTask(transport, { name: 't' }, ({ id }) => Object.assign(id!, { project }));
      await expect(task()).rejects.toThrow('is not active');
      await transport.call(method.updateProject, { id: project });
      await task();
      await transport.call(method.createExecution, { ...helloRequest('run'), project });
    },
  );

  it('belong to a control plane that answers its version', async () => {
    const { controlPlaneVersion } = await transport.call(method.getVersion, {});
    expect(controlPlaneVersion?.Version).toMatch(/^\d+\.\d+\.\d+/u);
    if (way === 'grpc') return;
    const answer = await fetch(`${plane.server().ready.http}/api/v1/version`);
    const { control_plane_version: shown, controlPlaneVersion: camel } = (await answer.json()) as Record<
      string,
      object
    >;
    expect(Object.keys(shown ?? camel ?? {}).sort()).toEqual(['Build', 'BuildTime', 'Version']);
  });
});

describe('a project whose registration was acknowledged', () => {
  it('is there after the process was killed', async () => {
    let own = await startControlPlane();
    const { directory } = own;
    for (const id of ['one', 'two', 'three']) {
      await own.grpc.call(method.registerProject, { project: { id, name: id } });
      await own.kill();
      own = await startControlPlane({}, directory);
      expect((await own.rest.call(method.getProject, { id })).name).toBe(id);
    }
    await own.close();
  });
});
