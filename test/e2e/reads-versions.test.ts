import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import { LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { allPages } from '../support/clients/lists.js';
import type { Transport } from '../support/clients/transports.js';

const { method } = AdminService;

const DEVELOPMENT = { project: 'flytesnacks', domain: 'development' };

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello', '14-pipeline'));
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('a list of what is registered, over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  const entries = withNeeds('01-hello', '14-pipeline').flatMap((folder) => folder.entries);
  const registered = (kind: string, key: (id: { name?: string; version?: string }) => string): string[] =>
    entries.filter((entry) => entry.kind === kind).map(({ id }) => key(id));
  const versionKey = ({ name, version }: { name?: string; version?: string }): string => `${name}@${version}`;

  it.each([3, 1_000])('of versions has all that is registered, in pages of %i', async (limit) => {
    const page = { id: DEVELOPMENT, limit };
    const tasks = await allPages(async (token) => {
      const { tasks: elements, token: next } = await transport.call(method.listTasks, { ...page, token });
      return { elements, token: next };
    });
    const workflows = await allPages(async (token) => {
      const { workflows: elements, token: next } = await transport.call(method.listWorkflows, { ...page, token });
      return { elements, token: next };
    });
    const plans = await allPages(async (token) => {
      const { launchPlans: elements, token: next } = await transport.call(method.listLaunchPlans, { ...page, token });
      return { elements, token: next };
    });
    expect(tasks.map(({ id }) => versionKey(id!)).sort()).toEqual(registered('task', versionKey).sort());
    expect(workflows.map(({ id }) => versionKey(id!)).sort()).toEqual(registered('workflow', versionKey).sort());
    expect(plans.map(({ id }) => versionKey(id!)).sort()).toEqual(registered('launch_plan', versionKey).sort());
  });

  it('of names has each name once, in order, in pages', async () => {
    const names = (kind: string) => [...new Set(registered(kind, ({ name }) => name!))].sort();
    for (const [rpc, kind] of [
      [method.listTaskIds, 'task'],
      [method.listWorkflowIds, 'workflow'],
      [method.listLaunchPlanIds, 'launch_plan'],
    ] as const) {
      const ids = await allPages(async (token) => {
        const { entities, token: next } = await transport.call(rpc, { ...DEVELOPMENT, limit: 2, token });
        return { elements: entities, token: next };
      });
      expect(ids.map(({ name }) => name)).toEqual(names(kind));
    }
    const { entities } = await transport.call(method.listTaskIds, { ...DEVELOPMENT, filters: 'contains(name,hello)' });
    expect(entities.map(({ name }) => name)).toEqual(['hello.greet']);
  });

  it('of one name has its versions, the newest first', async () => {
    const id = { ...DEVELOPMENT, name: 'pipeline.churn' };
    const { workflows } = await transport.call(method.listWorkflows, { id });
    expect(workflows.map((each) => each.id!.version)).toEqual(['v2', 'v1']);
    const sortBy = { key: 'version', direction: Direction.ASCENDING };
    const sorted = await transport.call(method.listWorkflows, { id, sortBy, filters: 'value_in(version,v1;v2)' });
    expect(sorted.workflows.map((each) => each.id!.version)).toEqual(['v1', 'v2']);
  });

  it('of active launch plans has the version of each name that was activated last', async () => {
    const names = ['pipeline.churn', 'pipeline.search'];
    for (const name of names) {
      for (const version of ['v1', 'v2']) {
        const id = { ...DEVELOPMENT, name, version };
        await transport.call(method.updateLaunchPlan, { id, state: LaunchPlanState.ACTIVE });
      }
    }
    const { launchPlans } = await transport.call(method.listActiveLaunchPlans, DEVELOPMENT);
    const active = launchPlans.map(({ id }) => versionKey(id!)).sort();
    expect(active).toEqual(names.map((name) => `${name}@v2`));
    const filters = `eq(state,${LaunchPlanState.ACTIVE})`;
    const filtered = await transport.call(method.listLaunchPlans, { id: DEVELOPMENT, filters });
    expect(filtered.launchPlans.map(({ id }) => versionKey(id!)).sort()).toEqual(active);
    for (const name of names) {
      const got = await transport.call(method.getActiveLaunchPlan, { id: { ...DEVELOPMENT, name } });
      expect([got.id!.version, got.closure!.state]).toEqual(['v2', LaunchPlanState.ACTIVE]);
    }
    const inactive = { id: { ...DEVELOPMENT, name: 'hello.hello' } };
    expect(await transport.attempt(method.getActiveLaunchPlan, inactive)).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of projects is one page, and each project has its domains', async () => {
    const { projects, token } = await transport.call(method.listProjects, {});
    expect(projects.map(({ id }) => id)).toContain('flytesnacks');
    expect(token).toBe('');
    const domains = ['development', 'staging', 'production'];
    for (const project of projects) expect(project.domains.map(({ id }) => id)).toEqual(domains);
    const { projects: one } = await transport.call(method.listProjects, {
      filters: 'eq(identifier,flytesnacks)',
      limit: 1,
    });
    expect(one.map(({ id }) => id)).toEqual(['flytesnacks']);
    const { domains: known } = await transport.call(method.getDomains, {});
    expect(known.map(({ id }) => id)).toEqual(domains);
  });
});
