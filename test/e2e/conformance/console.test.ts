import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { NamedEntityState, Sort_Direction as Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import type { Execution } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { ExecutionState } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanState } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { MatchableResource } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest } from '../../support/requests/hello.js';
import { allPages } from '../../support/clients/lists.js';
import { PLACE, registerTask } from '../../support/requests/registrations.js';
import type { ExecutionId } from '../../support/requests/reports.js';

const { method } = AdminService;
const ORIGIN = 'https://console.example.org';
const OCTETS = 'application/octet-stream';
const FOLDERS = ['01-hello', '04-nested', '06-dynamic', '07-maps', '08-gates'] as const;
const IN_PLACE = `${PLACE.project}/${PLACE.domain}`;
/** Codes of gRPC statuses. */
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;
const NEWEST = { 'sort_by.key': 'created_at', 'sort_by.direction': 'DESCENDING' };

let plane: ControlPlane;
let runs: readonly Execution[];

const launchAll = async (): Promise<void> => {
  for (const folder of FOLDERS)
    for (const { kind, method: rpc, bytes } of fixtureFolder(folder).entries)
      if (kind === 'execution') expect((await plane.grpc.send(rpc, bytes)).code).toBe('OK');
};

beforeAll(async () => {
  plane = await startControlPlane({ FLIGHTLOG_CORS_ALLOWED_ORIGINS: `[${ORIGIN}]` });
  await register(plane.grpc, withNeeds(...FOLDERS));
  await launchAll();
  await plane.run();
  runs = (await plane.grpc.call(method.listExecutions, { id: PLACE, limit: 1_000 })).executions;
}, 120_000);
afterAll(() => plane.close());

type Sent = { readonly headers?: Readonly<Record<string, string>>; readonly body?: Buffer };

const http = (verb: string, path: string, { headers, body }: Sent = {}): Promise<Response> =>
  fetch(plane.server().ready.http + path, {
    method: verb,
    headers: { origin: ORIGIN, ...headers },
    ...(body && { body: body as never }),
  });

type Query = Readonly<Record<string, string>>;

/** Makes a call as flyteconsole does, with messages as bytes, and expects that its origin may read the answer. */
const ask = async (verb: string, path: string, { query = {}, body }: { query?: Query; body?: Uint8Array } = {}) => {
  const response = await http(verb, `/api/v1/${path}?${new URLSearchParams(query).toString()}`, {
    headers: { accept: OCTETS, 'content-type': OCTETS },
    ...(body && { body: Buffer.from(body) }),
  });
  expect(response.headers.get('content-type')).toBe(OCTETS);
  expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(response.headers.get('access-control-allow-credentials')).toBe('true');
  return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
};

const get = async <O extends DescMessage>({ output }: DescMethodUnary<DescMessage, O>, path: string, query?: Query) => {
  const { status, bytes } = await ask('GET', path, query && { query });
  expect(status, path).toBe(200);
  return fromBinary(output, bytes, { recursionLimit: 200 });
};

const write = async <I extends DescMessage, O extends DescMessage>(
  { input, output }: DescMethodUnary<I, O>,
  [verb, path]: readonly [string, string],
  request: MessageInitShape<I>,
) => {
  const { status, bytes } = await ask(verb, path, { body: toBinary(input, create(input, request)) });
  expect(status, path).toBe(200);
  return fromBinary(output, bytes);
};

const pathOf = ({ project, domain, name }: ExecutionId): string => `${project}/${domain}/${name}`;

describe('flyteconsole, from another origin', () => {
  it.each(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'])('may send a %s with its headers', async (verb) => {
    for (const path of ['/api/v1/projects', `/api/v1/executions/${IN_PLACE}/any`, '/me', '/config/v1/flyte_client']) {
      const { status, headers } = await http('OPTIONS', path, {
        headers: {
          'access-control-request-method': verb,
          'access-control-request-headers': 'content-type,flyte-authorization,x-request-id',
        },
      });
      expect([path, status, headers.get('access-control-allow-origin')]).toEqual([path, 204, ORIGIN]);
      expect(headers.get('access-control-allow-credentials')).toBe('true');
      expect(headers.get('access-control-allow-methods')).toContain(verb);
      expect(headers.get('access-control-allow-headers')).toMatch(/content-type.*flyte-authorization.*x-request-id/u);
    }
  });

  it('gets empty values about the caller and OAuth 2.0 where there is no authentication', async () => {
    const response = await http('GET', '/me', { headers: { accept: 'application/json' } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toMatchObject({ subject: '', name: '', email: '' });
    for (const path of ['/config/v1/flyte_client', '/.well-known/oauth-authorization-server']) {
      const answer = await http('GET', path, { headers: { accept: 'application/json' } });
      expect([path, answer.status]).toEqual([path, 200]);
      expect(
        Object.values((await answer.json()) as object)
          .flat()
          .join(''),
      ).toBe('');
    }
  });

  it.each(['/login', '/logout', '/callback', '/.well-known/openid-configuration', '/oauth2/token'])(
    'finds no endpoint of a sign-in where there is no authentication: %s',
    async (path) => expect((await http('GET', `${path}?redirect_url=/console`)).status).toBe(404),
  );

  it.each(['GET', 'POST', 'HEAD', 'DELETE'])('finds the server healthy by %s', async (verb) => {
    const response = await http(verb, '/healthcheck');
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it('lists all projects with their domains, without a limit', async () => {
    const { projects, token } = await get(method.listProjects, 'projects');
    expect(token).toBe('');
    expect(projects.map(({ id, domains }) => [id, domains.map((domain) => domain.id)])).toEqual([
      ['flytesnacks', ['development', 'staging', 'production']],
    ]);
    expect((await get(method.getDomains, 'domains')).domains.length).toBe(3);
    expect((await get(method.getVersion, 'version')).controlPlaneVersion?.Version).toMatch(/./u);
  });

  it.each([
    ['tasks', ResourceType.TASK],
    ['workflows', ResourceType.WORKFLOW],
    ['launch plans', ResourceType.LAUNCH_PLAN],
  ])('lists the names of %s that are not archived, by name', async (_, type) => {
    const query = { limit: '10000', filters: 'eq(state,0)', 'sort_by.key': 'name', 'sort_by.direction': 'ASCENDING' };
    const { entities, token } = await get(method.listNamedEntities, `named_entities/${type}/${IN_PLACE}`, query);
    const names = entities.map(({ id }) => id!.name);
    expect([names.length > 3, token, names]).toEqual([true, '', [...names].sort()]);
    const one = await get(method.getNamedEntity, `named_entities/${type}/${IN_PLACE}/${names[0]!}`);
    expect(one.id).toMatchObject({ ...PLACE, name: names[0] });
  });

  it('lists versions, the newest first, and shows one', async () => {
    const { workflows } = await get(method.listWorkflows, `workflows/${IN_PLACE}/hello.hello`, {
      limit: '10',
      ...NEWEST,
    });
    expect(workflows.map(({ id }) => id!.version)).toEqual(['v1']);
    const workflow = await get(method.getWorkflow, `workflows/${IN_PLACE}/hello.hello/v1`);
    expect(workflow.closure!.compiledWorkflow!.primary!.connections).toBeDefined();
    await registerTask(plane.grpc, { name: 'hello.greet', version: 'v2' });
    const { tasks } = await get(method.listTasks, `tasks/${IN_PLACE}/hello.greet`, { limit: '10', ...NEWEST });
    expect(tasks.map(({ id }) => id!.version)).toEqual(['v2', 'v1']);
    expect(tasks[0]!.closure!.compiledTask!.template!.interface).toBeDefined();
    expect((await get(method.getTask, `tasks/${IN_PLACE}/hello.greet/v1`)).id!.name).toBe('hello.greet');
    const { launchPlans } = await get(method.listLaunchPlans, `launch_plans/${IN_PLACE}`, {
      limit: '10',
      filters: 'eq(workflow.name,hello.hello)+eq(workflow.version,v1)',
      ...NEWEST,
    });
    expect(launchPlans.map(({ id }) => id!.name)).toContain('hello.hello');
    const plan = await get(method.getLaunchPlan, `launch_plans/${IN_PLACE}/hello.hello/v1`);
    expect(plan.closure!.expectedInputs!.parameters).toHaveProperty('name');
  });

  it('lists executions page after page, and with its filters', async () => {
    const path = `executions/${IN_PLACE}`;
    const all = await allPages(async (token) => {
      const page = await get(method.listExecutions, path, { limit: '3', ...(token && { token }), ...NEWEST });
      return { elements: page.executions, token: page.token };
    });
    expect(all.map(({ id }) => id!.name).sort()).toEqual(runs.map(({ id }) => id!.name).sort());
    const listedWith = async (filters: string) =>
      (await get(method.listExecutions, path, { limit: '100', filters, ...NEWEST })).executions;
    const succeeded = runs.filter(({ closure }) => closure!.phase === Phase.SUCCEEDED).length;
    expect((await listedWith('eq(phase,SUCCEEDED)')).length).toBe(succeeded);
    expect(
      (await listedWith('value_in(phase,SUCCEEDED;FAILED;RUNNING)+gte(started_at,2020-01-01T00:00:00Z)')).length,
    ).toBe(succeeded);
    const ofHello = runs.filter(({ closure }) => closure!.workflowId!.name === 'hello.hello').map(({ id }) => id!.name);
    expect(ofHello.length).toBeLessThan(runs.length);
    for (const filters of [
      'eq(workflow.name,hello.hello)+eq(state,0)',
      'eq(launch_plan.name,hello.hello)+lt(duration,86400)',
    ])
      expect((await listedWith(filters)).map(({ id }) => id!.name).sort()).toEqual(ofHello.sort());
    expect(await listedWith('eq(state,1)')).toEqual([]);
  });

  it('shows every execution: its data, its metrics, its nodes with those inside, and their tasks', async () => {
    const kinds = { parents: 0, dynamic: 0, external: 0 };
    const show = async (run: ExecutionId, node: NodeExecution): Promise<void> => {
      const base = `${pathOf(run)}/${node.id!.nodeId}`;
      expect((await get(method.getNodeExecution, `node_executions/${base}`)).id!.nodeId).toBe(node.id!.nodeId);
      const { dynamicWorkflow } = await get(method.getNodeExecutionData, `data/node_executions/${base}`);
      expect(dynamicWorkflow !== undefined).toBe(node.metadata!.isDynamic);
      kinds.dynamic += dynamicWorkflow ? 1 : 0;
      const { taskExecutions } = await get(method.listTaskExecutions, `task_executions/${base}`, { limit: '10000' });
      for (const { id, closure } of taskExecutions) {
        const { project, domain, name, version } = id!.taskId!;
        const task = `${base}/${project}/${domain}/${name}/${version}/${id!.retryAttempt}`;
        expect((await get(method.getTaskExecution, `task_executions/${task}`)).id).toEqual(id);
        await get(method.getTaskExecutionData, `data/task_executions/${task}`);
        await get(method.listNodeExecutionsForTask, `children/task_executions/${task}`, { limit: '10000' });
        kinds.external += closure!.metadata?.externalResources.length ?? 0;
      }
      if (node.metadata!.isParentNode) kinds.parents += 1;
      if (node.metadata!.isParentNode) await showAll(run, { uniqueParentId: node.id!.nodeId });
    };
    const showAll = async (run: ExecutionId, query: Query = {}): Promise<void> => {
      const asked = { limit: '10000', 'sort_by.key': 'created_at', 'sort_by.direction': 'ASCENDING', ...query };
      const { nodeExecutions } = await get(method.listNodeExecutions, `node_executions/${pathOf(run)}`, asked);
      expect(nodeExecutions.length).toBeGreaterThan(0);
      for (const node of nodeExecutions) await show(run, node);
    };
    for (const { id } of runs) {
      const { closure } = await get(method.getExecution, `executions/${pathOf(id!)}`);
      expect(closure!.workflowId!.name).not.toBe('');
      expect((await get(method.getExecutionData, `data/executions/${pathOf(id!)}`)).fullInputs).toBeDefined();
      await get(method.getExecutionMetrics, `metrics/executions/${pathOf(id!)}`, { depth: '10' });
      await showAll(id!);
    }
    for (const [kind, count] of Object.entries(kinds)) expect([kind, count > 0]).toEqual([kind, true]);
  }, 120_000);

  it('launches with inputs in the spec, and relaunches, archives and terminates', async () => {
    const request = helloRequest('from-console');
    request.spec!.inputs = request.inputs!;
    delete request.inputs;
    const { id } = await write(method.createExecution, ['POST', 'executions'], request);
    const { fullInputs } = await get(method.getExecutionData, `data/executions/${pathOf(id!)}`);
    expect(Object.keys(fullInputs!.literals)).toContain('name');
    const again = await write(method.relaunchExecution, ['POST', 'executions/relaunch'], {
      id: id!,
      name: 'once-more',
    });
    const path = `executions/${pathOf(again.id!)}`;
    const state = ExecutionState.EXECUTION_ARCHIVED;
    await write(method.updateExecution, ['PUT', path], { state });
    await write(method.terminateExecution, ['DELETE', path], { cause: 'from the console' });
    const { closure } = await get(method.getExecution, path);
    expect(closure).toMatchObject({
      phase: Phase.ABORTING,
      stateChangeDetails: { state },
      outputResult: { case: 'abortMetadata', value: { cause: 'from the console' } },
    });
    await write(method.terminateExecution, ['DELETE', `executions/${pathOf(id!)}`], { cause: '' });
    const recovered = await ask('POST', 'executions/recover', {
      body: toBinary(method.recoverExecution.input, create(method.recoverExecution.input, { id: id! })),
    });
    expect(fromBinary(StatusSchema, recovered.bytes)).toMatchObject({ code: FAILED_PRECONDITION });
  });

  it('archives a workflow name, which is then not listed until it is active again', async () => {
    const path = `named_entities/${ResourceType.WORKFLOW}/${IN_PLACE}`;
    const metadata = { state: NamedEntityState.NAMED_ENTITY_ARCHIVED };
    const set = (to: object) => write(method.updateNamedEntity, ['PUT', `${path}/hello.hello`], { metadata: to });
    const names = async () => {
      const { entities } = await get(method.listNamedEntities, path, { limit: '10000', filters: 'eq(state,0)' });
      return entities.map(({ id }) => id!.name);
    };
    await set(metadata);
    expect(await names()).not.toContain('hello.hello');
    await set({});
    expect(await names()).toContain('hello.hello');
  });

  it('finds the signals of a gate, and sets one', async () => {
    const { id } = await plane.grpc.call(method.createExecution, helloRequest('gated'));
    const signalId = { signalId: 'approve', executionId: id! };
    const type = { type: { case: 'simple', value: SimpleType.BOOLEAN } } as const;
    await plane.grpc.call(SignalService.method.getOrCreateSignal, { id: signalId, type });
    const asked = { limit: '100', ...NEWEST };
    const { signals } = await get(SignalService.method.listSignals, `signals/${pathOf(id!)}`, asked);
    expect(signals).toMatchObject([{ id: signalId, type }]);
    const yes = {
      value: {
        case: 'scalar',
        value: { value: { case: 'primitive', value: { value: { case: 'boolean', value: true } } } },
      },
    } as const;
    await write(SignalService.method.setSignal, ['POST', 'signals'], { id: signalId, value: yes });
    const set = await get(SignalService.method.listSignals, `signals/${pathOf(id!)}`, asked);
    expect(set.signals).toMatchObject([{ value: yes }]);
    await plane.grpc.call(method.terminateExecution, { id: id! });
  });

  it('gets NOT_FOUND in bytes for an execution and a path that do not exist', async () => {
    const { status, bytes } = await ask('GET', `executions/${IN_PLACE}/unknown`);
    expect([status, fromBinary(StatusSchema, bytes).code]).toEqual([404, NOT_FOUND]);
    const nowhere = await ask('GET', 'nothing/at/all');
    expect([nowhere.status, fromBinary(StatusSchema, nowhere.bytes).code]).toEqual([404, NOT_FOUND]);
  });
});

describe('flytectl', () => {
  it('pages with tokens that are offsets, which it computes itself', async () => {
    const page = async (token: string) => {
      const request = { id: PLACE, limit: 3, token, sortBy: { key: 'created_at', direction: Direction.DESCENDING } };
      return (await plane.grpc.call(method.listExecutions, request)).executions.map(({ id }) => id!.name);
    };
    const all = [...(await page('')), ...(await page('3')), ...(await page('6'))];
    expect([all.length, new Set(all).size]).toEqual([9, 9]);
    expect(await page('1000000')).toEqual([]);
  });

  it('gets NOT_FOUND where there are no attributes, and may delete them all the same', async () => {
    const at = { ...PLACE, workflow: 'none', resourceType: MatchableResource.TASK_RESOURCE };
    for (const { code } of [
      await plane.grpc.attempt(method.getWorkflowAttributes, at),
      await plane.grpc.attempt(method.getProjectDomainAttributes, at),
      await plane.grpc.attempt(method.getProjectAttributes, at),
    ])
      expect(code).toBe('NOT_FOUND');
    await plane.grpc.call(method.deleteWorkflowAttributes, at);
  });

  it('activates, reads and deactivates versions without naming their resource type', async () => {
    const id = { ...PLACE, name: 'hello.hello', version: 'v1' };
    await plane.grpc.call(method.updateLaunchPlan, { id, state: LaunchPlanState.ACTIVE });
    expect((await plane.grpc.call(method.getActiveLaunchPlan, { id: { ...PLACE, name: id.name } })).id!.version).toBe(
      'v1',
    );
    expect((await plane.grpc.call(method.getWorkflow, { id })).id!.name).toBe('hello.hello');
    await plane.grpc.call(method.updateLaunchPlan, { id });
    const gone = await plane.grpc.attempt(method.getActiveLaunchPlan, { id: { ...PLACE, name: id.name } });
    expect(gone.code).toBe('NOT_FOUND');
  });

  it('gets ALREADY_EXISTS for an execution that is there, and terminates without a cause', async () => {
    const { id } = await plane.grpc.call(method.createExecution, helloRequest('by-hand'));
    expect((await plane.grpc.attempt(method.createExecution, helloRequest('by-hand'))).code).toBe('ALREADY_EXISTS');
    await plane.grpc.call(method.terminateExecution, { id: id! });
  });
});
