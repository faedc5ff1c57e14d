import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type ExecuteTaskSyncRequestSchema } from '../../../proto/gen/platformidl/admin/agent_pb.js';
import { TaskExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import {
  AgentMetadataService,
  AsyncAgentService,
  SyncAgentService,
} from '../../../proto/gen/platformidl/service/agent_pb.js';
import { freePort } from '../../support/processes/command.js';
import { type ControlPlane, startControlPlane } from '../../support/processes/control-plane.js';
import { type BrokenAgent, startBrokenAgent } from '../../support/servers/broken-agent.js';
import { type ExampleAgent, startExampleAgent } from '../../support/servers/example-agent.js';
import { type GrpcClient, grpcClient } from '../../support/clients/grpc-client.js';
import { restClient } from '../../support/clients/rest-client.js';

const { createTask, getTask, deleteTask, getTaskMetrics } = AsyncAgentService.method;
const { getAgent, listAgents } = AgentMetadataService.method;
const { executeTaskSync } = SyncAgentService.method;

type SyncRequest = MessageInitShape<typeof ExecuteTaskSyncRequestSchema>;

const asIs = (bytes: Buffer): Buffer => bytes;
const meta = (text: string): Uint8Array => Buffer.from(text);
const sensor = { name: 'sensor', version: 0 };
const header = (type: string): SyncRequest => ({
  part: { case: 'header', value: { template: { type }, outputPrefix: 'out' } },
});
const inputs: SyncRequest = { part: { case: 'inputs', value: { literals: { path: { hash: 'h' } } } } };

describe('agents in the configuration', () => {
  let plane: ControlPlane;
  let client: GrpcClient;
  const agents: ExampleAgent[] = [];
  let silent: BrokenAgent;

  beforeAll(async () => {
    agents.push(await startExampleAgent('old-sensors'), await startExampleAgent('new-sensors'));
    silent = await startBrokenAgent('never answers');
    const configured = [
      { name: 'silent', endpoint: silent.endpoint, timeout: '1h', task_types: ['unanswered'] },
      { name: 'old-sensors', endpoint: agents[0]!.endpoint, task_types: ['sensor', 'query'] },
      { name: 'new-sensors', endpoint: agents[1]!.endpoint, task_types: [{ name: 'sensor', version: 2 }] },
      { name: 'gone', endpoint: `127.0.0.1:${await freePort()}`, timeout: '2s', task_types: ['letter'] },
    ];
    plane = await startControlPlane({ FLIGHTLOG_AGENTS: JSON.stringify(configured) });
    client = grpcClient(plane.server().ready.grpc);
  });
  afterAll(async () => {
    client.close();
    for (const agent of [...agents, silent]) agent.close();
    await plane.close();
  });

  const refusalOf = async (asked: Promise<unknown>): Promise<readonly [string, string]> => {
    const error = (await asked.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )) as ServiceError;
    return [status[error.code], error.details];
  };

  /**
   * Calls ExecuteTaskSync with a stream of requests, and collects all answers. Published clients name the service in
   * the package `flyteidl`.
   */
  const sync = (requests: readonly SyncRequest[], callersPackage = 'flyteidl') =>
    new Promise<readonly ReturnType<typeof decodeSync>[]>((resolve, reject) => {
      const channel = new Client(plane.server().ready.grpc, credentials.createInsecure());
      const path = `/${callersPackage}.service.SyncAgentService/ExecuteTaskSync`;
      const call = channel.makeBidiStreamRequest(path, asIs, asIs);
      const answers: ReturnType<typeof decodeSync>[] = [];
      call.on('data', (bytes: Buffer) => answers.push(decodeSync(bytes)));
      call.on('error', reject);
      call.on('end', () => resolve(answers));
      call.on('close', () => channel.close());
      for (const each of requests)
        call.write(Buffer.from(toBinary(executeTaskSync.input, create(executeTaskSync.input, each))));
      call.end();
    });
  const decodeSync = (bytes: Buffer) => fromBinary(executeTaskSync.output, bytes);

  it('get a cancellation of each call whose caller cancels, has reached its deadline or disconnects', async () => {
    const { grpc, http } = plane.server().ready;
    const channel = new Client(grpc, credentials.createInsecure());
    const request = Buffer.from(
      toBinary(getTask.input, create(getTask.input, { taskCategory: { name: 'unanswered', version: 1 } })),
    );
    const ask = (deadline?: number) => {
      const path = '/flyteidl.service.AsyncAgentService/GetTask';
      const options = deadline === undefined ? {} : { deadline };
      return channel.makeUnaryRequest(path, asIs, asIs, request, new Metadata(), options, () => undefined);
    };
    const url = `${http}/api/v1/agent/task/unanswered/1/AAAA`;
    const begun = silent.begun();
    const cancelled = ask();
    await begun;
    cancelled.cancel();
    await silent.left('GetTask', 1);
    ask(Date.now() + 300);
    await silent.left('GetTask', 2);
    const leaving = new AbortController();
    const begunOverRest = silent.begun();
    const disconnected = fetch(url, { signal: leaving.signal }).catch(() => 'disconnected');
    await begunOverRest;
    leaving.abort();
    expect(await disconnected).toBe('disconnected');
    await silent.left('GetTask', 3);
    expect((await fetch(url, { headers: { 'grpc-timeout': '300m' } })).status).toBe(504);
    await silent.left('GetTask', 4);
    channel.close();
  }, 60_000);

  it('create, poll and delete a task: the agent is the one configured for the type and version of the task', async () => {
    const first = await client.call(createTask, { template: { type: 'sensor' }, outputPrefix: 'a' });
    const second = await client.call(createTask, {
      template: { type: 'sensor', taskTypeVersion: 2 },
      outputPrefix: 'b',
    });
    expect([first, second].map(({ resourceMeta }) => Buffer.from(resourceMeta).toString())).toEqual([
      'old-sensors/a',
      'new-sensors/b',
    ]);
    const request = { taskCategory: { name: 'sensor', version: 2 }, resourceMeta: second.resourceMeta };
    expect((await client.call(getTask, request)).resource?.phase).toBe(Phase.RUNNING);
    expect((await client.call(getTask, request)).resource?.phase).toBe(Phase.SUCCEEDED);
    await client.call(deleteTask, request);
    expect(agents[1]!.deleted).toEqual(['new-sensors/b']);
  });

  it('are found by the deprecated field for the type, which older callers send in place of the category', async () => {
    const request = create(getTask.input, { resourceMeta: meta('old-sensors/x') });
    const data = Buffer.from('\u0006sensor'); // the length of the text, then the text
    request.$unknown = [{ no: 1, wireType: WireType.LengthDelimited, data }];
    const answer = await client.call(getTask, request);
    expect(answer.resource?.message).toBe('old-sensors/x');
  });

  it('answer GetTaskMetrics', async () => {
    const { results } = await client.call(getTaskMetrics, { taskCategory: sensor, queries: ['cpu', 'memory'] });
    expect(results.map(({ metric }) => metric)).toEqual(['cpu', 'memory']);
  });

  it.each(['flyteidl', 'platformidl'])(
    'run a task in one stream of ExecuteTaskSync, called in package %s',
    async (callersPackage) => {
      const answers = await sync([header('sensor'), inputs], callersPackage);
      expect(answers.map(({ res }) => res.case)).toEqual(['header', 'outputs']);
    },
  );

  const REFUSALS: readonly (readonly [string, string, RegExp, () => Promise<unknown>])[] = [
    [
      'a type that no agent runs',
      'NOT_FOUND',
      /no agent runs tasks of type poem/u,
      () => client.call(createTask, { template: { type: 'poem' } }),
    ],
    ['a task without a template', 'INVALID_ARGUMENT', /missing template/u, () => client.call(createTask, {})],
    ['a category without a name', 'INVALID_ARGUMENT', /missing task_category/u, () => client.call(getTask, {})],
    [
      'an agent that is down',
      'UNAVAILABLE',
      /agent gone \(127\.0\.0\.1:\d+\)/u,
      () => client.call(createTask, { template: { type: 'letter' } }),
    ],
    [
      'an agent that breaks',
      'ABORTED',
      /agent old-sensors .* UNKNOWN: Traceback: the table is locked/u,
      () => client.call(createTask, { template: { type: 'query' } }),
    ],
    [
      'a task that the agent does not know',
      'NOT_FOUND',
      /agent old-sensors .*nothing is known of x/u,
      () => client.call(getTask, { taskCategory: sensor, resourceMeta: meta('x') }),
    ],
    ['an agent without a name', 'INVALID_ARGUMENT', /missing name/u, () => client.call(getAgent, {})],
    ['a stream without a header', 'INVALID_ARGUMENT', /missing header/u, () => sync([inputs])],
    ['a stream without messages', 'INVALID_ARGUMENT', /missing header/u, () => sync([])],
    [
      'a stream for a type that no agent runs',
      'NOT_FOUND',
      /no agent runs tasks of type poem/u,
      () => sync([header('poem')]),
    ],
    ['a stream for an agent that is down', 'UNAVAILABLE', /agent gone/u, () => sync([header('letter')])],
    ['a list with an agent that is down', 'UNAVAILABLE', /agent gone/u, () => client.call(listAgents, {})],
  ];

  it.each(REFUSALS)('a refusal says what is wrong: %s', async (_what, code, message, ask) => {
    expect(await plane.unchanged(() => refusalOf(ask()))).toEqual([code, expect.stringMatching(message)]);
  });

  it('are called over REST, where a stream is JSON with one object per line', async () => {
    const rest = restClient(plane.server().ready.http);
    const json = { 'content-type': 'application/json' };
    const created = await rest.request(
      'POST',
      '/api/v1/agent/task',
      '{"template":{"type":"sensor"},"output_prefix":"r"}',
      json,
    );
    const { resource_meta: resourceMeta } = JSON.parse(Buffer.from(created.bytes).toString()) as {
      resource_meta: string;
    };
    const got = await rest.request(
      'GET',
      `/api/v1/agent/task/sensor/0/${Buffer.from(resourceMeta, 'base64').toString('base64url')}`,
    );
    expect([got.http, Buffer.from(got.bytes).toString()]).toEqual([200, expect.stringContaining('RUNNING')]);
    const logs = await rest.request('GET', '/api/v1/agent/task/logs/sensor/0/eA?lines=2'); // eA: x in base64
    expect(Buffer.from(logs.bytes).toString().split('\n')).toEqual([
      expect.stringMatching(/^\{"result":.*line 1/u),
      expect.stringMatching(/^\{"result":.*line 2/u),
      '',
    ]);
    const exchange = '{"header":{"template":{"type":"sensor"}}}\n{"inputs":{"literals":{}}}\n';
    const answered = await rest.request('POST', '/api/v1/agent/task/stream', exchange, json);
    expect(Buffer.from(answered.bytes).toString().trim().split('\n')).toHaveLength(2);
    const down = await rest.request('POST', '/api/v1/agent/task', '{"template":{"type":"letter"}}', json);
    expect([down.http, down.message]).toEqual([503, expect.stringContaining('agent gone')]);
  });
});

describe('without agents in the configuration', () => {
  it('a call is refused, and the message names the setting', async () => {
    const plane = await startControlPlane();
    const client = grpcClient(plane.server().ready.grpc);
    const asked = client.call(createTask, { template: { type: 'sensor' } });
    await expect(asked).rejects.toThrow(/UNIMPLEMENTED: no agent is configured: name one under "agents"/u);
    client.close();
    await plane.close();
  });

  it('a call over REST without a body is UNIMPLEMENTED', async () => {
    const plane = await startControlPlane();
    const asked = await fetch(`${plane.server().ready.http}/api/v1/agent/task/stream`, { method: 'POST' });
    expect(asked.status).toBe(501);
    await plane.close();
  });
});
