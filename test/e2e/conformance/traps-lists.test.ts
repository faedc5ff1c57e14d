import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { ExecutionState } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { MatchableResource } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { ArtifactType, DataProxyService } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest, launchHello, literal } from '../../support/requests/hello.js';
import { flyteidl } from '../../support/clients/published-client.js';
import { PLACE, registerTask } from '../../support/requests/registrations.js';
import { type ExecutionId, nodeReport, second, workflowReport } from '../../support/requests/reports.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;
const RUN = { ...PLACE, name: 'wide' };
/** One more than the default limit of a list of nodes. */
const NODES = 101;

let plane: ControlPlane;
let call: Transport['call'];
let attempt: Transport['attempt'];

const reportNode = (id: ExecutionId, nodeId: string, event: Parameters<typeof nodeReport>[2]) =>
  call(method.createNodeEvent, nodeReport(id, nodeId, event));

beforeAll(async () => {
  plane = await startControlPlane();
  ({ call, attempt } = plane.grpc);
  await register(plane.grpc, withNeeds('01-hello', '05-launch-plans'));
  await launchHello(plane.grpc, RUN.name);
  for (let at = 0; at < NODES; at += 1)
    await reportNode(RUN, `n${at}`, { phase: NodePhase.RUNNING, occurredAt: second(at) });
});
afterAll(() => plane.close());

const rest = (path: string, init?: RequestInit): Promise<Response> => fetch(plane.server().ready.http + path, init);
const json = async (path: string, accept = '*/*'): Promise<Record<string, unknown>> =>
  (await (await rest(path, { headers: { accept } })).json()) as Record<string, unknown>;
/** The sorted names of the executions that a filter finds. */
const names = async (filters: string): Promise<readonly string[]> =>
  (await call(method.listExecutions, { id: PLACE, filters })).executions.map(({ id }) => id!.name).sort();

/**
 * A trap is a behaviour that published clients or engines depend on and that the interface does not state. The
 * titles of the tests number the traps; there is no other list of them.
 */
describe('compatibility traps of lists and reads', () => {
  it('trap 31: the default limit of nodes is 100, a token may be an offset, and a full last page has no token', async () => {
    const page = (request: { limit?: number; token?: string }) =>
      call(method.listNodeExecutions, { workflowExecutionId: RUN, ...request });
    const first = await page({});
    expect([first.nodeExecutions.length, first.token]).toEqual([100, expect.stringMatching(/\D/u)]);
    const last = await page({ limit: 1, token: '100' });
    expect([last.nodeExecutions.length, last.token]).toEqual([1, '']);
    const whole = await page({ limit: NODES });
    expect([whole.nodeExecutions.length, whole.token]).toEqual([NODES, '']);
    const { projects } = await call(method.listProjects, { limit: 0 });
    expect(projects.map(({ id }) => id)).toContain('flytesnacks');
  });

  it('trap 32: filters may have the forms that clients write, and invalid filters are refused', async () => {
    const labelled = helloRequest('labelled', ({ spec }) => Object.assign(spec!, { tags: ['trap'] }));
    await call(method.createExecution, labelled);
    await launchHello(plane.grpc, 'hidden');
    await call(method.updateExecution, { id: { ...PLACE, name: 'hidden' }, state: ExecutionState.EXECUTION_ARCHIVED });
    expect(await names('value_in(name,labelled;hidden)+eq(phase, QUEUED)')).toEqual(['labelled']);
    expect(await names('eq(launch_plan.name,hello.hello)+eq(name,labelled)')).toEqual(['labelled']);
    expect(await names('eq(state,1)')).toEqual(['hidden']);
    const path = '/api/v1/executions/flytesnacks/development?limit=10&filters=';
    const { executions } = await json(`${path}eq(name,labelled)%2Beq(phase,QUEUED)`);
    expect(executions).toHaveLength(1);
    for (const filters of ['eq(colour,red)', 'ne(phase,)', 'eq(phase', 'like(phase)', 'phase=QUEUED'])
      expect([filters, (await attempt(method.listExecutions, { id: PLACE, filters })).code]).toEqual([
        filters,
        'INVALID_ARGUMENT',
      ]);
  });

  it('trap 33: a sort without a direction is descending: by created_at, the newest version comes first', async () => {
    for (const version of ['v2', 'v10', 'v9']) await registerTask(plane.grpc, { name: 'hello.greet', version });
    expect(Direction.DESCENDING).toBe(0);
    const { tasks } = await call(method.listTasks, {
      id: { ...PLACE, name: 'hello.greet' },
      limit: 1,
      sortBy: { key: 'created_at' },
    });
    expect(tasks.map(({ id }) => id!.version)).toEqual(['v9']);
  });

  it('trap 34: a list has the interface of a workflow without its nodes, and errors cut short', async () => {
    const { workflows } = await call(method.listWorkflows, { id: { ...PLACE, name: 'hello.hello' } });
    const { compiledWorkflow, createdAt } = workflows[0]!.closure!;
    expect(Object.keys(compiledWorkflow!.primary!.template!.interface!.inputs!.variables).sort()).toEqual([
      'name',
      'times',
    ]);
    expect([createdAt, compiledWorkflow!.primary!.template!.nodes]).toEqual([expect.anything(), []]);

    const id = await launchHello(plane.grpc, 'failed');
    const outputResult = { case: 'error', value: { code: 'E', message: 'x'.repeat(1_000) } } as const;
    await reportNode(id, 'n0', { phase: NodePhase.FAILED, outputResult });
    await call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED, outputResult }));
    const [execution] = (await call(method.listExecutions, { id: PLACE, filters: 'eq(name,failed)' })).executions;
    const [node] = (await call(method.listNodeExecutions, { workflowExecutionId: id })).nodeExecutions;
    const whole = await call(method.getExecution, { id });
    const lengths = [execution!, node!, whole].map(({ closure }) => {
      const { outputResult: said } = closure!;
      return said.case === 'error' && said.value.message.length;
    });
    expect(lengths).toEqual([100, 100, 1_000]);
  });

  it('trap 35: REST answers in bytes or either spelling of JSON, and accepts numbers of enums, both spellings, and a body of DELETE', async () => {
    const octets = 'application/octet-stream';
    const path = '/api/v1/executions/flytesnacks/development/wide';
    const answer = await rest(path, { headers: { accept: octets } });
    expect(flyteidl.admin.Execution.decode(new Uint8Array(await answer.arrayBuffer())).id?.name).toBe('wide');
    const missing = await rest(`${path}-not`, { headers: { accept: octets } });
    expect([missing.status, missing.headers.get('content-type')]).toEqual([404, octets]);

    expect(await json(path)).toHaveProperty('closure.stateChangeDetails.principal', '');
    expect(await json(path, 'application/json')).toHaveProperty('closure.state_change_details');
    const launchPlan = ResourceType.LAUNCH_PLAN; // in the path by its number
    const { entities } = await json(`/api/v1/named_entities/${launchPlan}/flytesnacks/development?limit=10`);
    expect(entities).not.toEqual([]);
    for (const name of ['uniqueParentId', 'unique_parent_id']) {
      const nodes = await rest(`/api/v1/node_executions/flytesnacks/development/wide?limit=5&${name}=unknown`);
      expect(nodes.status).toBe(404);
    }
    const id = await launchHello(plane.grpc, 'deleted');
    const body = JSON.stringify({ cause: 'by REST' });
    await rest('/api/v1/executions/flytesnacks/development/deleted', { method: 'DELETE', body });
    const { closure } = await call(method.getExecution, { id });
    expect(closure?.outputResult).toMatchObject({ case: 'abortMetadata', value: { cause: 'by REST' } });
  });

  it('trap 38: attributes that were not set are NOT_FOUND, but the execution configuration of a project always exists', async () => {
    const resourceType = MatchableResource.WORKFLOW_EXECUTION_CONFIG;
    const codes = [
      attempt(method.getProjectDomainAttributes, { ...PLACE, resourceType }),
      attempt(method.getWorkflowAttributes, { ...PLACE, workflow: 'hello.hello', resourceType }),
      attempt(method.getProjectDomainAttributes, { ...PLACE, project: 'unknown', resourceType }),
    ];
    expect((await Promise.all(codes)).map(({ code }) => code)).toEqual(['NOT_FOUND', 'NOT_FOUND', 'INVALID_ARGUMENT']);
    const { attributes } = await call(method.getProjectAttributes, { project: PLACE.project, resourceType });
    expect(attributes?.matchingAttributes?.target.case).toBe('workflowExecutionConfig');
  });

  it('trap 39: an upload of the same content has the same location, is answered with 200, and can be downloaded', async () => {
    const content = Buffer.from('<p>a deck</p>');
    const contentMd5 = createHash('md5').update(content).digest();
    const place = { ...PLACE, contentMd5, filename: 'deck.html', addContentMd5Metadata: true };
    const proxy = DataProxyService.method;
    const located = await call(proxy.createUploadLocation, place);
    expect((await call(proxy.createUploadLocation, place)).nativeUrl).toBe(located.nativeUrl);
    const headers = { 'Content-MD5': contentMd5.toString('base64'), ...located.headers };
    expect((await fetch(located.signedUrl, { method: 'PUT', body: content, headers })).status).toBe(200);

    const id = await launchHello(plane.grpc, 'with-deck');
    const outputResult = { case: 'outputData', value: { literals: { o0: literal('said') } } } as const;
    await reportNode(id, 'n0', { phase: NodePhase.SUCCEEDED, deckUri: located.nativeUrl, outputResult });
    const nodeExecutionId = { executionId: id, nodeId: 'n0' };
    const link = await call(proxy.createDownloadLink, {
      artifactType: ArtifactType.DECK,
      source: { case: 'nodeExecutionId', value: nodeExecutionId },
    });
    const { signedUrl, expiresAt } = link.preSignedUrls!;
    expect(link).toMatchObject({ signedUrl, expiresAt });
    expect(await (await fetch(signedUrl[0]!)).text()).toBe(content.toString());
    const { flyteUrls } = await call(method.getNodeExecutionData, { id: nodeExecutionId });
    const { data } = await call(proxy.getData, { flyteUrl: flyteUrls!.outputs });
    expect(data).toMatchObject({ case: 'literalMap', value: outputResult.value });
  });

  it('trap 40: names that differ from the usual spelling are kept as clients expect them', async () => {
    expect(Object.keys((await json('/api/v1/version'))['controlPlaneVersion'] as object).sort()).toEqual([
      'Build',
      'BuildTime',
      'Version',
    ]);
    // Other fields are in snake_case for `application/json`.
    const descriptions = `/api/v1/description_entities/${ResourceType.TASK}/flytesnacks/development/hello.greet?limit=1`;
    for (const accept of ['*/*', 'application/json'])
      expect(await json(descriptions, accept)).toHaveProperty('descriptionEntities');

    const id = await launchHello(plane.grpc, 'with-child');
    const value = { executionId: RUN };
    await reportNode(id, 'start-node', {
      phase: NodePhase.SUCCEEDED,
      outputResult: { case: 'outputUri', value: 's3://o' },
    });
    await reportNode(id, 'n0', { phase: NodePhase.RUNNING, targetMetadata: { case: 'workflowNodeMetadata', value } });
    const node = '/api/v1/node_executions/flytesnacks/development/with-child';
    expect(await json(`${node}/n0`, 'application/json')).toHaveProperty(
      'closure.workflow_node_metadata.executionId.name',
      RUN.name,
    );
    expect(await json(`${node}/start-node`)).toMatchObject({ inputUri: '', closure: { outputUri: 's3://o' } });
  });
});
