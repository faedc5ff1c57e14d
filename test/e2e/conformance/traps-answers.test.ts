import { once } from 'node:events';
import { connect } from 'node:http2';

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { NodeExecutionEventRequestSchema } from '../../../proto/gen/platformidl/admin/event_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { statuses } from '../../../services/gateway/status.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { type GrpcClient, grpcClient } from '../../support/clients/grpc-client.js';
import { helloRequest, launchHello } from '../../support/requests/hello.js';
import { flyteidl, publishedClient } from '../../support/clients/published-client.js';
import { PLACE } from '../../support/requests/registrations.js';
import { nodeReport, workflowReport } from '../../support/requests/reports.js';
import { wideWorkflow } from '../../support/requests/wide-workflow.js';

const { method } = AdminService;
const ADMIN = '/flyteidl.service.AdminService';
const MIB = 1024 * 1024;
/** Clients may refuse metadata above 8 kB; the rest is for other headers and trailers. */
const MAX_TRAILER_BYTES = 6_000;

let plane: ControlPlane;
let client: GrpcClient;

beforeAll(async () => {
  plane = await startControlPlane();
  client = grpcClient(plane.server().ready.grpc);
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(async () => {
  client.close();
  await plane.close();
});

const rest = (path: string, init?: RequestInit): Promise<Response> => fetch(plane.server().ready.http + path, init);

/**
 * A trap is a behaviour that published clients or engines depend on and that the interface does not state. The
 * titles of the tests number the traps; there is no other list of them.
 */
describe('compatibility traps of answers', () => {
  it('trap 1: the status has its details under the name of the package that the caller used', async () => {
    const id = await launchHello(plane.grpc, 'ended');
    await plane.grpc.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED }));
    const { FAILED } = flyteidl.core.WorkflowExecution.Phase;
    const late = { event: { executionId: id, phase: FAILED, occurredAt: {} } };
    const request = flyteidl.admin.WorkflowExecutionEventRequest.encode(late).finish();
    const { code, message, metadata } = await client.raw(`${ADMIN}/CreateWorkflowEvent`, request);
    const [bytes] = metadata.get('grpc-status-details-bin');
    const status = fromBinary(StatusSchema, new Uint8Array(bytes as Buffer));
    expect([code, status.code, status.message]).toEqual([
      'FAILED_PRECONDITION',
      statuses.FAILED_PRECONDITION.number,
      message,
    ]);
    const [detail] = status.details;
    expect(detail!.typeUrl).toBe('type.googleapis.com/flyteidl.admin.EventFailureReason');
    const reason = flyteidl.admin.EventFailureReason.decode(detail!.value);
    expect(reason.alreadyInTerminalState?.currentPhase).toBe('SUCCEEDED');

    const own = await client.raw('/platformidl.service.AdminService/CreateWorkflowEvent', request);
    const [ownBytes] = own.metadata.get('grpc-status-details-bin');
    const { details } = fromBinary(StatusSchema, new Uint8Array(ownBytes as Buffer));
    expect(details[0]!.typeUrl).toBe('type.googleapis.com/platformidl.admin.EventFailureReason');
  });

  it('trap 4: a mistake of a client has its own status, which is never UNKNOWN', async () => {
    const executions = { id: PLACE, limit: 10 };
    const asked = [
      plane.grpc.attempt(method.listExecutions, { ...executions, filters: 'eq(phase' }),
      plane.grpc.attempt(method.listExecutions, { ...executions, filters: 'gt(created_at,yesterday)' }),
      plane.grpc.attempt(method.listExecutions, { ...executions, token: 'nowhere' }),
      plane.grpc.attempt(method.listExecutions, { ...executions, sortBy: { key: 'colour' } }),
      plane.grpc.attempt(method.getExecution, {}),
      plane.grpc.attempt(
        method.createExecution,
        helloRequest('x', ({ spec }) => {
          delete spec!.launchPlan;
        }),
      ),
      plane.grpc.send('GetTask', Uint8Array.of(0xff, 0xff, 0xff)), // not a protobuf message
      plane.grpc.attempt(method.getExecution, { id: { ...PLACE, name: 'unknown' } }),
      plane.grpc.attempt(method.getTask, {
        id: { ...PLACE, resourceType: ResourceType.TASK, name: 'n', version: 'v' },
      }),
      client.raw(`${ADMIN}/NoSuchCall`, new Uint8Array()),
    ];
    const codes = (await Promise.all(asked)).map(({ code }) => code);
    const mistakes = Array.from({ length: 7 }, () => 'INVALID_ARGUMENT');
    expect(codes).toEqual([...mistakes, 'NOT_FOUND', 'NOT_FOUND', 'UNIMPLEMENTED']);
  });

  it('trap 6: a message above the limit is RESOURCE_EXHAUSTED with the words that the engine looks for', async () => {
    const { code, message } = await client.raw(`${ADMIN}/CreateNodeEvent`, new Uint8Array(64 * MIB + 1));
    expect([code, message]).toEqual(['RESOURCE_EXHAUSTED', expect.stringContaining('message larger than max')]);
  });

  it('trap 7: a node event may have a dynamic workflow of more than 4 MiB, of which all nodes are read', async () => {
    const executionId = await launchHello(plane.grpc, 'wide-inside');
    const { template } = wideWorkflow('v1', 40_000).spec!;
    const value = { dynamicWorkflow: { id: template!.id!, compiledWorkflow: { primary: { template: template! } } } };
    const report = nodeReport(executionId, 'n0', {
      phase: NodePhase.DYNAMIC_RUNNING,
      targetMetadata: { case: 'taskNodeMetadata', value },
    });
    const bytes = toBinary(NodeExecutionEventRequestSchema, create(NodeExecutionEventRequestSchema, report));
    expect(bytes.length).toBeGreaterThan(4 * MIB);
    expect((await plane.grpc.send('CreateNodeEvent', bytes)).code).toBe('OK');
    const node = { id: { executionId, nodeId: 'n0' } };
    const { compiledWorkflow } = await plane.grpc.call(method.getDynamicNodeWorkflow, node);
    expect(compiledWorkflow?.primary?.template?.nodes).toHaveLength(40_000);
  });

  it('trap 8: the message and details of a refusal fit into the trailers that clients accept', async () => {
    const wrong = wideWorkflow('wrong', 3_000);
    for (const node of wrong.spec!.template!.nodes!) node.upstreamNodeIds = ['unknown-node'];
    const long = 'ä'.repeat(100_000);
    const asked = [
      ['CreateWorkflow', toBinary(method.createWorkflow.input, create(method.createWorkflow.input, wrong))],
      [
        'ListExecutions',
        toBinary(
          method.listExecutions.input,
          create(method.listExecutions.input, { id: PLACE, filters: `${long}(a,b)` }),
        ),
      ],
      [
        'GetExecution',
        toBinary(method.getExecution.input, create(method.getExecution.input, { id: { ...PLACE, name: long } })),
      ],
    ] as const;
    for (const [rpc, request] of asked) {
      const { code, message, metadata } = await client.raw(`${ADMIN}/${rpc}`, request);
      expect(code).not.toBe('OK');
      const [details = ''] = metadata.get('grpc-status-details-bin');
      const base64Length = Math.ceil(details.length / 3) * 4;
      const bytes = encodeURI(message).length + base64Length;
      expect(bytes).toBeLessThanOrEqual(MAX_TRAILER_BYTES);
    }
  });

  it('trap 9: a client that pings often and calls nothing keeps its connection', async () => {
    const session = connect(`http://${plane.server().ready.grpc}`);
    const goaways: number[] = [];
    session.on('goaway', (code: number) => goaways.push(code));
    await once(session, 'connect');
    for (let pings = 0; pings < 200; pings += 1)
      await new Promise<void>((resolve, reject) => {
        session.ping((error) => (error === null ? resolve() : reject(error)));
      });
    const call = session.request({
      ':method': 'POST',
      ':path': `${ADMIN}/GetVersion`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const trailers = once(call, 'trailers') as Promise<[Readonly<Record<string, string>>]>;
    call.resume();
    call.end(Uint8Array.of(0, 0, 0, 0, 0)); // the gRPC frame of an empty message
    expect((await trailers)[0]['grpc-status']).toBe('0');
    expect(goaways).toEqual([]);
    session.close();
  });

  it('trap 36: gRPC statuses become the HTTP statuses that clients know, and paths outside of the API are served', async () => {
    const headers = { 'content-type': 'application/json' };
    const task = { resourceType: 'TASK', ...PLACE, name: 'hello.greet', version: 'v1' };
    const post = (path: string, body: unknown): Promise<Response> =>
      rest(path, { method: 'POST', body: JSON.stringify(body), headers });
    const project = { project: { id: 'twice', name: 'twice' } };
    await post('/api/v1/projects', project);
    const id = await launchHello(plane.grpc, 'ended-again');
    await plane.grpc.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED }));
    const ended = '/api/v1/executions/flytesnacks/development/ended-again';
    const asked: readonly (readonly [Promise<Response>, number])[] = [
      [post('/api/v1/projects', project), 409],
      [post('/api/v1/tasks', { id: task }), 400],
      [rest(ended, { method: 'DELETE', body: '{}', headers }), 400],
      [rest('/api/v1/executions/flytesnacks/development/unknown'), 404],
      [rest('/api/v1/tasks/flytesnacks/development/unknown/v1'), 404],
      [rest('/api/v1/agent/agents'), 501],
      [rest('/me'), 200],
      [rest('/healthcheck'), 200],
      [rest('/config/v1/flyte_client'), 200],
    ];
    for (const [answer, status] of asked) expect((await answer).status).toBe(status);
  });

  it('trap 37: without authentication, calls about it are answered, and the tokens of calls are ignored', async () => {
    const published = publishedClient(plane.server().ready.grpc);
    for (const rpc of ['AuthMetadataService.GetOAuth2Metadata', 'AuthMetadataService.GetPublicClientConfig'])
      expect((await published.call(rpc, {})).code).toBe('OK');
    published.close();
    for (const header of ['authorization', 'flyte-authorization']) {
      const answer = await client.raw(`${ADMIN}/GetVersion`, new Uint8Array(), { [header]: 'Bearer a.b.c' });
      expect(answer.code).toBe('OK');
    }
  });
});
