import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { status as grpcStatus } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { NamedEntityListSchema, Sort_Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  EventFailureReasonSchema,
  NodeExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import {
  ExecutionCreateRequestSchema,
  ExecutionCreateResponseSchema,
  ExecutionListSchema,
  ExecutionSchema,
  ExecutionTerminateResponseSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { ProjectRegisterResponseSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { TaskExecutionSchema } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import { TaskListSchema, TaskSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { NodeExecution_Phase, WorkflowExecution_Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { CreateUploadLocationResponseSchema } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { NO_SIGN_IN, signInRoutes } from '../../../services/auth/metadata/rpc.js';
import { requestFault } from '../../../services/gateway/rest/answer.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { bytesRoute, type Call, type Route, route, RpcError } from '../../../services/kernel/rpc.js';
import { type Logged, overHttp } from './toy.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const BINARY_TYPE = { 'content-type': 'application/octet-stream' };

/** The request and the call that a handler got last. */
const got: { request?: unknown; call?: Call } = {};
/** A handler that notes its request and its call, and gives this answer. */
const keep = <Answer>(answer: Answer) => {
  return (request: unknown, call: Call): Promise<Answer> => {
    Object.assign(got, { request, call });
    return Promise.resolve(answer);
  };
};

const execution = create(ExecutionSchema, {
  id: { project: 'p', domain: 'd', name: 'n' },
  closure: {
    phase: WorkflowExecution_Phase.RUNNING,
    createdAt: timestampFromDate(new Date(0)),
    duration: { seconds: 1n, nanos: 500_000_000 },
  },
});
const terminal = create(EventFailureReasonSchema, {
  reason: { case: 'alreadyInTerminalState', value: { currentPhase: 'FAILED' } },
});

const { method } = AdminService;
const routes: readonly Route[] = [
  ...signInRoutes(NO_SIGN_IN),
  route(method.getTask, keep(create(TaskSchema, { shortDescription: 'x' }))),
  route(method.listTasks, keep(create(TaskListSchema))),
  route(method.listExecutions, keep(create(ExecutionListSchema))),
  route(method.getExecution, async (request, call) => {
    call.answeredAt(42n);
    const { name } = request.id ?? {};
    if (name === 'terminal') {
      throw new RpcError('FAILED_PRECONDITION', 'ended', [{ schema: EventFailureReasonSchema, message: terminal }]);
    }
    if (name === 'stranger') throw new RpcError('UNAUTHENTICATED', 'token expired');
    if (name === 'bug') throw new TypeError('secret');
    if (name === 'away') throw new StoreUnavailable('secret');
    if (name === 'busy') {
      const until = performance.now() + 60;
      while (performance.now() < until);
    }
    if (name === 'slow') await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    return toBinary(ExecutionSchema, execution);
  }),
  route(method.createExecution, keep(create(ExecutionCreateResponseSchema))),
  route(method.terminateExecution, keep(create(ExecutionTerminateResponseSchema))),
  route(method.registerProject, keep(create(ProjectRegisterResponseSchema))),
  route(method.getTaskExecution, keep(create(TaskExecutionSchema))),
  route(method.listNamedEntities, keep(create(NamedEntityListSchema))),
  bytesRoute(method.createNodeEvent, keep(new Uint8Array())),
  route(DataProxyService.method.createUploadLocation, keep(create(CreateUploadLocationResponseSchema))),
];

const logged: Logged[] = [];
let toy: Awaited<ReturnType<typeof overHttp>>;
beforeAll(async () => {
  toy = await overHttp(routes, logged, { maxMessageBytes: 1_000_000 });
});
afterAll(() => toy.close());
beforeEach(() => {
  delete got.request;
  delete got.call;
});

const errorOf = async (response: Response) =>
  (await response.json()) as { code: number; message: string; details: object[] };

describe('a path', () => {
  it('gives its variables to the fields of the request, however deep', async () => {
    await toy.get('/api/v1/task_executions/p/d/n/n0/tp/td/core.hello%20world/v%C3%BC/3');
    expect(got.request).toMatchObject({
      id: {
        nodeExecutionId: { nodeId: 'n0', executionId: { project: 'p', domain: 'd', name: 'n' } },
        taskId: { project: 'tp', domain: 'td', name: 'core.hello world', version: 'vü' },
        retryAttempt: 3,
      },
    });
  });

  it('is matched with the longer or the shorter binding of an RPC that has two', async () => {
    await toy.get('/api/v1/tasks/p/d/n');
    expect(got.request).toMatchObject({ id: { project: 'p', domain: 'd', name: 'n' } });
    await toy.get('/api/v1/tasks/p/d');
    expect(got.request).toMatchObject({ id: { project: 'p', domain: 'd', name: '' } });
  });

  it.each(['TASK', '1', '0x1'])('names a value of an enum as %s', async (value) => {
    await toy.get(`/api/v1/named_entities/${value}/p/d`);
    expect(got.request).toMatchObject({ resourceType: ResourceType.TASK, project: 'p' });
  });

  it.each([
    ['/api/v1/named_entities/NOTHING/p/d', 'resource_type: "NOTHING" is not one of UNSPECIFIED, TASK, WORKFLOW'],
    ['/api/v1/task_executions/p/d/n/n0/tp/td/tn/v/many', 'retry_attempt'],
    ['/api/v1/task_executions/p/d/n/n0/tp/td/tn/v/-1', 'retry_attempt'],
    ['/api/v1/tasks/%zz/d', 'malformed path'],
    ['/api/v1/tasks/%ff/d', 'malformed path'],
    ['/api/v1/executions/p/d?filters=eq(name,%ff)', 'malformed query'],
    ['/api/v1/executions/p/d?filters=eq(name,50%)', 'malformed query'],
    ['/api/v1/executions/p/d?%c3%28=x', 'malformed query'],
  ])('%s is refused, and the error has: %s', async (path, field) => {
    const response = await toy.get(path);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({
      code: grpcStatus.INVALID_ARGUMENT,
      message: expect.stringContaining(field) as string,
    });
  });

  it('is decoded before it is split, so that one with an encoded slash in a name is not found', async () => {
    expect((await toy.get('/api/v1/executions/p/d/a%2Fb')).status).toBe(404);
  });

  it('that is unknown is not found', async () => {
    const response = await toy.get('/api/v1/nonsense');
    expect(response.status).toBe(404);
    expect(await errorOf(response)).toEqual({ code: grpcStatus.NOT_FOUND, message: 'Not Found', details: [] });
  });

  it.each(['PATCH', 'POST', 'DELETE', 'OPTIONS', 'QUERY'])('without a binding for %s answers 501', async (verb) => {
    const response = await toy.send(verb, '/api/v1/domains');
    expect(response.status).toBe(501);
    expect(await errorOf(response)).toEqual({
      code: grpcStatus.UNIMPLEMENTED,
      message: 'Method Not Allowed',
      details: [],
    });
  });

  it('is not implemented for HEAD', async () => {
    expect((await toy.send('HEAD', '/api/v1/projects')).status).toBe(501);
  });

  it('of an RPC that is not built is refused with a text that says so', async () => {
    const response = await toy.get('/api/v1/metrics/executions/p/d/n');
    expect(response.status).toBe(501);
    expect((await errorOf(response)).message).toBe('AdminService.GetExecutionMetrics is not built yet');
  });
});

describe('the target of a request', () => {
  /** `fetch` sends a path; clients that take the server for their proxy send a URL. */
  const targeted = (target: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const port = Number(new URL(toy.url).port);
      httpRequest({ host: '127.0.0.1', port, path: target }, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });

  it.each([
    ['/api/v1/tasks/p/d/n/v', 200],
    ['http://other.example/api/v1/tasks/p/d/n/v', 200],
    ['HTTPS://other.example:8443/healthcheck', 200],
    ['http://other.example/api/v1/nowhere?http://x/healthcheck', 404],
    ['http://other.example?a=/healthcheck', 302],
    ['http://other.example', 302],
    ['/http://other.example/healthcheck', 404],
    ['//other.example/healthcheck', 404],
  ])('%s is answered %i: it may be a path or a URL, whose host has no meaning', async (target, status) => {
    expect(await targeted(target)).toBe(status);
  });
});

describe('a query', () => {
  it.each([
    'limit=5&token=t&filters=eq(phase,RUNNING)%2Bne(a,b)&sort_by.key=created_at&sort_by.direction=ASCENDING',
    'limit=5&token=t&filters=eq(phase,RUNNING)%2Bne(a,b)&sortBy.key=created_at&sortBy.direction=1&nonsense=1',
  ])('fills the request in either spelling: %s', async (query) => {
    const response = await toy.get(`/api/v1/executions/p/d?${query}`);
    expect(response.status).toBe(200);
    expect(got.request).toMatchObject({
      id: { project: 'p', domain: 'd' },
      limit: 5,
      token: 't',
      filters: 'eq(phase,RUNNING)+ne(a,b)',
      sortBy: { key: 'created_at', direction: Sort_Direction.ASCENDING },
    });
  });

  it('does not change what the path says', async () => {
    await toy.get('/api/v1/executions/p/d?id.project=other&id.name=n');
    expect(got.request).toMatchObject({ id: { project: 'p', name: 'n' } });
  });

  it.each([
    ['limit=1&limit=2', 'limit'],
    ['sort_by.key=a&sortBy.key=b', 'sort_by.key'],
    ['limit=many', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=99999999999', 'limit'],
    ['sort_by.direction=SIDEWAYS', 'invalid value for sort_by.direction: "SIDEWAYS" is not one of'],
    ['sort_by=x', 'sort_by'],
  ])('%s is refused, and the error has: %s', async (query, field) => {
    const response = await toy.get(`/api/v1/executions/p/d?${query}`);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toContain(field);
  });
});

const CREATE = '/api/v1/executions';

describe('a JSON body', () => {
  it.each([
    '{"project":"p","spec":{"launch_plan":{"name":"n"},"max_parallelism":3}}',
    '{"project":"p","spec":{"launchPlan":{"name":"n"},"maxParallelism":3}}',
  ])('is read in either spelling: %s', async (body) => {
    for (const headers of [JSON_TYPE, {}]) {
      expect((await toy.send('POST', CREATE, body, headers)).status).toBe(200);
      expect(got.request).toMatchObject({ project: 'p', spec: { launchPlan: { name: 'n' }, maxParallelism: 3 } });
    }
  });

  it('may have unknown names, unless its content type is JSON', async () => {
    const body = '{"project":"p","colour":"red"}';
    for (const type of ['text/plain', 'application/x-yaml', 'nonsense']) {
      expect((await toy.send('POST', CREATE, body, { 'content-type': type })).status).toBe(200);
    }
    for (const type of ['application/json', 'application/json; charset=utf-8']) {
      const response = await toy.send('POST', CREATE, body, { 'content-type': type });
      expect(response.status).toBe(400);
      expect((await errorOf(response)).message).toContain('colour');
    }
  });

  it.each(['text/plain', 'application/json'])('may have nulls beside the set member of a oneof: %s', async (type) => {
    const scalar = '{"primitive":{"integer":"1","string_value":null},"blob":null}';
    const body = `{"inputs":{"literals":{"x":{"collection":null,"scalar":${scalar},"map":null}}}}`;
    expect((await toy.send('POST', CREATE, body, { 'content-type': type })).status).toBe(200);
    const primitive = { case: 'primitive', value: { value: { case: 'integer', value: 1n } } };
    expect(got.request).toMatchObject({
      inputs: { literals: { x: { value: { case: 'scalar', value: { value: primitive } } } } },
    });
  });

  it.each(['text/plain', 'application/json'])('keeps every digit of a 64-bit number: %s', async (type) => {
    const integer = '{"scalar":{"primitive":{"integer":-9007199254740993}}}';
    const generic = '{"scalar":{"generic":{"n":12345678901234567890,"s":"say \\"1234567890123456789\\""}}}';
    const body = `{"inputs":{"literals":{"i":${integer},"g":${generic}}}}`;
    expect((await toy.send('POST', CREATE, body, { 'content-type': type })).status).toBe(200);
    const primitive = { case: 'primitive', value: { value: { case: 'integer', value: -9_007_199_254_740_993n } } };
    const struct = { n: Number('12345678901234567890'), s: 'say "1234567890123456789"' };
    expect(got.request).toMatchObject({
      inputs: {
        literals: {
          i: { value: { case: 'scalar', value: { value: primitive } } },
          g: { value: { case: 'scalar', value: { value: { case: 'generic', value: struct } } } },
        },
      },
    });
  });

  it.each(['1e3', '1000.0', '1000'])('takes a decimal text for an integer: %j', async (integer) => {
    const body = JSON.stringify({ inputs: { literals: { x: { scalar: { primitive: { integer } } } } } });
    expect((await toy.send('POST', CREATE, body, JSON_TYPE)).status).toBe(200);
    const primitive = { case: 'primitive', value: { value: { case: 'integer', value: 1_000n } } };
    expect(got.request).toMatchObject({
      inputs: { literals: { x: { value: { case: 'scalar', value: { value: primitive } } } } },
    });
  });

  it.each([' 3', '3 ', '\t3', '3\n', ' ', '+3', '3.', '.0', '0x3', '0b1', '0o7', '1_000', '1.5', '1e-1', 'three'])(
    'refuses another text for an integer, and names the field: %j',
    async (integer) => {
      const long = JSON.stringify({ inputs: { literals: { x: { scalar: { primitive: { integer } } } } } });
      const short = JSON.stringify({ spec: { max_parallelism: integer } });
      const fields = [
        [long, 'inputs.literals[x].scalar.primitive.integer: expected bigint (int64)'],
        [short, 'spec.max_parallelism: expected number (int32)'],
      ] as const;
      for (const [body, reason] of fields) {
        const response = await toy.send('POST', CREATE, body, JSON_TYPE);
        expect(response.status).toBe(400);
        const { message } = await errorOf(response);
        expect(message).toContain(`invalid value for ${reason}, got`);
        expect(message).toContain('(not an integer)"');
      }
    },
  );

  it.each([
    ['a fraction of many zeros', `{"spec":{"max_parallelism":"1${'0'.repeat(240_000)}1.0"}}`],
    ['an unknown name of many colons', `{"${': '.repeat(120_000)}":" 3","spec":{"max_parallelism":"0x3"}}`],
  ])('is refused in linear time with %s', async (_, body) => {
    // In quadratic time, this takes longer than the test may.
    expect((await toy.send('POST', CREATE, body, JSON_TYPE)).status).toBe(400);
  });

  it('refuses an array in an array for an integer, however deep it is', async () => {
    const deep = `${'['.repeat(5_000)}" 3"${']'.repeat(5_000)}`;
    const response = await toy.send('POST', CREATE, `{"spec":{"max_parallelism":${deep}}}`, JSON_TYPE);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toContain('invalid value for spec.max_parallelism: expected number');
  });

  it('refuses a text with an escaped space before its digits for an integer', async () => {
    const body = '{"inputs":{"literals":{"x":{"scalar":{"primitive":{"integer":"\\u00203"}}}}}}';
    expect((await toy.send('POST', CREATE, body, JSON_TYPE)).status).toBe(400);
  });

  it('is refused with an unknown value of an enum, also where unknown names are ignored', async () => {
    const body = '{"colour":"red","spec":{"hue":[{}],"metadata":{"mode":"SOMETIMES"}}}';
    const response = await toy.send('POST', CREATE, body, { 'content-type': 'text/plain' });
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toContain('spec.metadata.mode: "SOMETIMES" is not one of MANUAL');
  });

  it('is refused with a key twice, also where unknown names are ignored', async () => {
    const body = '{"colour":"red","name":"a","name":"b"}';
    const response = await toy.send('POST', CREATE, body, { 'content-type': 'text/plain' });
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toContain('duplicate object key "name"');
  });

  it('is an empty message when it is empty', async () => {
    expect((await toy.send('POST', CREATE, '', JSON_TYPE)).status).toBe(200);
    expect(equals(ExecutionCreateRequestSchema, got.request as never, create(ExecutionCreateRequestSchema))).toBe(true);
  });

  it.each([
    ['{"project":', 'malformed JSON'],
    ['not json', 'malformed JSON'],
    ['[]', 'invalid request: the body is an array, and must be an object'],
    ['null', 'invalid request: the body is null, and must be an object'],
    ['"x"', 'invalid request: the body is a string, and must be an object'],
    ['{"project":7}', 'invalid value for project'],
    ['{"spec":{"launch_plan":{"version":[]}}}', 'invalid value for spec.launch_plan.version'],
    ['{"spec":{"tags":["a",1]}}', 'invalid value for spec.tags[1]'],
    [
      '{"inputs":{"literals":{"x":{"scalar":{"primitive":{"datetime":"yesterday"}}}}}}',
      'inputs.literals[x].scalar.primitive.datetime',
    ],
    [
      '{"inputs":{"literals":{"x":{"scalar":{"primitive":{"datetime":"2026-02-30T00:00:00Z"}}}}}}',
      'inputs.literals[x].scalar.primitive.datetime',
    ],
    [
      '{"spec":{"quality_of_service":{"spec":{"queueing_budget":"1.1234567891s"}}}}',
      'spec.quality_of_service.spec.queueing_budget: out of range',
    ],
    ['{"inputs":{"literals":{"x":{"scalar":{},"map":{}}}}}', 'inputs.literals[x]'],
    ['{"inputs":{"literals":{"x":{"scalar":null,"map":7}}}}', 'inputs.literals[x].map'],
    ['{"spec":{"metadata":{"scheduledAt":"2026-02-30T00:00:00Z"}}}', 'spec.metadata.scheduledAt'],
    ['{"spec":{"metadata":{"scheduled_at":"2023-02-29T00:00:00.5+01:00"}}}', 'spec.metadata.scheduled_at'],
    ['{"spec":{"metadata":{"scheduledAt":"2026-01-31T24:00:00Z"}}}', 'spec.metadata.scheduledAt'],
    ['{"spec":{"metadata":{"scheduledAt":"2026-02-3\\u0030T00:00:00Z"}}}', 'spec.metadata.scheduledAt'],
    ['{"spec":{"qualityOfService":{"spec":{"queueingBudget":"1s and more"}}}}', 'queueingBudget: " 1s and more"'],
    ['{"spec":{"qualityOfService":{"spec":{"queueingBudget":"1\\u0073 and more"}}}}', 'spec.queueingBudget'],
    ['{"spec":{"launch_plan":{},"launchPlan":{}}}', 'invalid value for spec.launch_plan: set multiple times'],
    ['{"spec":{"launchPlan":null,"launch_plan":{"name":"n"}}}', 'spec.launch_plan: set multiple times'],
    ['{"spec":{},"spec":{}}', 'duplicate object key "spec"'],
    ['{"spec":{"metadata":{"mode":"SOMETIMES"}}}', 'spec.metadata.mode: "SOMETIMES" is not one of MANUAL, SCHEDULED'],
  ])('%s is refused, and the error has: %s', async (body, where) => {
    const response = await toy.send('POST', CREATE, body, JSON_TYPE);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({
      code: grpcStatus.INVALID_ARGUMENT,
      message: expect.stringContaining(where) as string,
    });
    expect(got.request).toBeUndefined();
  });

  it('may have the time of a leap day, and texts that only look like times and durations which are refused', async () => {
    const texts = '"tags":["2026-02-30T00:00:00Z","1s and more"]';
    const body = `{"spec":{"metadata":{"scheduledAt":"2024-02-29T00:00:00Z"},${texts}}}`;
    expect((await toy.send('POST', CREATE, body, JSON_TYPE)).status).toBe(200);
    expect(got.request).toMatchObject({
      spec: {
        metadata: { scheduledAt: { seconds: 1_709_164_800n } },
        tags: ['2026-02-30T00:00:00Z', '1s and more'],
      },
    });
  });

  it('may have null for the members of a oneof that are not set', async () => {
    const body = '{"inputs":{"literals":{"x":{"map":null,"scalar":{"generic":{"kept":null}},"collection":null}}}}';
    expect((await toy.send('POST', CREATE, body, JSON_TYPE)).status).toBe(200);
    expect(got.request).toMatchObject({
      inputs: {
        literals: { x: { value: { case: 'scalar', value: { value: { case: 'generic', value: { kept: null } } } } } },
      },
    });
  });

  it('is refused when it is not UTF-8', async () => {
    const response = await toy.send('POST', CREATE, Buffer.from('{"\xff"}', 'latin1'), JSON_TYPE);
    expect(response.status).toBe(400);
  });

  it.each([
    ['messages', `${'{"collection":{"literals":['.repeat(60)}{}${']}}'.repeat(60)}`],
    ['messages, by thousands', `${'{"collection":{"literals":['.repeat(9_000)}{}${']}}'.repeat(9_000)}`],
    ['brackets', '['.repeat(400_000)],
    ['closed brackets', '['.repeat(400_000) + ']'.repeat(400_000)],
  ])('is refused when it has too many levels of %s', async (_what, value) => {
    const response = await toy.send('POST', CREATE, `{"inputs":{"literals":{"x":${value}}}}`, JSON_TYPE);
    expect(response.status).toBe(400);
    expect((await toy.get('/healthcheck')).status).toBe(200);
  });

  it('is refused when it is larger than a message may be', async () => {
    const response = await toy.send('POST', CREATE, `{"name":"${'x'.repeat(1_000_000)}"}`, JSON_TYPE);
    expect(response.status).toBe(429);
    expect(await errorOf(response)).toMatchObject({
      code: grpcStatus.RESOURCE_EXHAUSTED,
      message: expect.stringContaining('message larger than max') as string,
    });
  });

  it('may come with DELETE, and the variables of the path win over it', async () => {
    const body = '{"id":{"project":"other","domain":"d"},"cause":"enough"}';
    expect((await toy.send('DELETE', '/api/v1/executions/p/d/n', body, JSON_TYPE)).status).toBe(200);
    expect(got.request).toMatchObject({ id: { project: 'p', domain: 'd', name: 'n' }, cause: 'enough' });
    expect((await toy.send('DELETE', '/api/v1/executions/p/d/n')).status).toBe(200);
    expect(got.request).toMatchObject({ id: { project: 'p' }, cause: '' });
  });

  it('may be the project alone, without the message around it, where a project is registered', async () => {
    for (const body of ['{"id":"p","name":"P"}', '{"project":{"id":"p","name":"P"}}']) {
      expect((await toy.send('POST', '/api/v1/projects', body, JSON_TYPE)).status).toBe(200);
      expect(got.request).toMatchObject({ project: { id: 'p', name: 'P' } });
    }
  });

  it('reaches a handler of bytes as protobuf', async () => {
    await toy.send('POST', '/api/v1/events/nodes', '{"event":{"id":{"node_id":"n0"},"phase":"RUNNING"}}', JSON_TYPE);
    expect(fromBinary(NodeExecutionEventRequestSchema, got.request as Uint8Array)).toMatchObject({
      event: { id: { nodeId: 'n0' }, phase: NodeExecution_Phase.RUNNING },
    });
  });
});

describe('a form', () => {
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

  it('is a query of the method that x-http-method-override names', async () => {
    const response = await toy.send('POST', '/api/v1/executions/p/d', 'limit=7', {
      ...FORM,
      'x-http-method-override': 'GET',
    });
    expect(response.status).toBe(200);
    expect(got.request).toMatchObject({ id: { project: 'p' }, limit: 7 });
  });

  it('is a query where the path has no method but GET', async () => {
    await toy.send('POST', '/api/v1/executions/p/d', 'limit=8', FORM);
    expect(got.request).toMatchObject({ limit: 8 });
  });

  it('is refused when it is not UTF-8', async () => {
    const response = await toy.send('POST', '/api/v1/executions/p/d', Buffer.from('token=\xff', 'latin1'), FORM);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toBe('malformed form: it is not valid UTF-8');
  });

  it('is refused where the path has several methods', async () => {
    expect((await toy.send('POST', '/api/v1/executions/p/d/n', 'cause=x', FORM)).status).toBe(400);
  });
});

describe('an answer', () => {
  const path = '/api/v1/executions/p/d/n';

  it('is in lowerCamelCase, with null or an empty value for fields that are not set', async () => {
    const response = await toy.get(path);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({
      id: { project: 'p', domain: 'd', name: 'n', org: '' },
      spec: null,
      closure: {
        phase: 'RUNNING',
        createdAt: '1970-01-01T00:00:00Z',
        duration: '1.500s',
        startedAt: null,
        notifications: [],
      },
    });
  });

  it('is in snake_case for clients that accept JSON by its exact name, or send it and accept anything', async () => {
    const closure = async (headers: Record<string, string>) =>
      ((await (await toy.get(path, headers)).json()) as { closure: object }).closure;
    expect(await closure({ accept: 'application/json' })).toHaveProperty('created_at');
    expect(await closure({ accept: 'application/json, text/plain, */*' })).toHaveProperty('createdAt');
    expect(await closure({ ...JSON_TYPE, accept: '*/*' })).toHaveProperty('created_at');
  });

  it('leaves out the members of a oneof that are not set', async () => {
    const { closure } = (await (await toy.get(path)).json()) as { closure: object };
    expect(closure).not.toHaveProperty('error');
    expect(closure).not.toHaveProperty('outputs');
  });

  it('is the message itself for clients that speak protobuf', async () => {
    const response = await toy.get(path, { accept: 'application/octet-stream' });
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(fromBinary(ExecutionSchema, new Uint8Array(await response.arrayBuffer()))).toEqual(execution);
  });

  it('has headers with its position, and with the content type of gRPC', async () => {
    const { headers } = await toy.get(path);
    expect(headers.get('flightlog-position')).toBe('log-1.42');
    expect(headers.get('grpc-metadata-content-type')).toBe('application/grpc');
  });
});

describe('the request id in an answer', () => {
  const idOf = async (path: string, id: string) =>
    (await toy.get(path, { 'x-request-id': id })).headers.get('flightlog-request-id');

  it('is the one that the caller sent, also when the request fails', async () => {
    expect(await idOf('/api/v1/executions/p/d/n', 'r-1')).toBe('r-1');
    expect(await idOf('/api/v1/executions/p/d/terminal', 'r-2')).toBe('r-2');
  });

  it('is missing when the id is not of printable ASCII', async () => {
    expect(await idOf('/api/v1/executions/p/d/n', 'caf\u00e9')).toBeNull();
  });
});

describe('bytes over HTTP', () => {
  it('may be a request, which is answered in bytes', async () => {
    const request = toBinary(ExecutionCreateRequestSchema, create(ExecutionCreateRequestSchema, { project: 'p' }));
    const response = await toy.send('POST', CREATE, request, BINARY_TYPE);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(got.request).toMatchObject({ project: 'p' });
  });

  it('that are no message are refused in bytes', async () => {
    for (const path of [CREATE, '/api/v1/events/nodes']) {
      const response = await toy.send(
        'POST',
        path,
        Buffer.from([0x0a, 0x7f]) /* a field of 127 bytes that has none */,
        BINARY_TYPE,
      );
      expect(response.status).toBe(400);
      const { code, message } = fromBinary(StatusSchema, new Uint8Array(await response.arrayBuffer()));
      expect(code).toBe(grpcStatus.INVALID_ARGUMENT);
      expect(message).toContain('ends early');
    }
  });
});

describe('a refusal', () => {
  it('carries its details in the dialect of the caller', async () => {
    const path = '/api/v1/executions/p/d/terminal';
    const json = await toy.get(path, { accept: 'application/json' });
    expect(json.status).toBe(400);
    expect(await json.json()).toEqual({
      code: grpcStatus.FAILED_PRECONDITION,
      message: 'ended',
      details: [
        {
          '@type': 'type.googleapis.com/platformidl.admin.EventFailureReason',
          already_in_terminal_state: { current_phase: 'FAILED' },
        },
      ],
    });
    const binary = await toy.get(path, { accept: 'application/octet-stream' });
    const { details } = fromBinary(StatusSchema, new Uint8Array(await binary.arrayBuffer()));
    expect(fromBinary(EventFailureReasonSchema, details[0]!.value)).toEqual(terminal);
  });

  it('asks callers without valid credentials for a token', async () => {
    const response = await toy.get('/api/v1/executions/p/d/stranger');
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer realm="flightlog", error="invalid_token", error_description="token expired"',
    );
  });

  it('says nothing of a bug', async () => {
    const response = await toy.get('/api/v1/executions/p/d/bug', { 'x-request-id': 'r-1' });
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toEqual({ code: grpcStatus.INTERNAL, message: 'internal error', details: [] });
    expect(logged.at(-1)).toMatchObject({ level: 'error', fields: { requestId: 'r-1' } });
  });

  it('of a read whose store is unavailable says only that', async () => {
    const response = await toy.get('/api/v1/executions/p/d/away');
    expect(response.status).toBe(503);
    expect(await errorOf(response)).toMatchObject({ code: grpcStatus.UNAVAILABLE, message: 'a store is unavailable' });
  });
});

describe('the headers of a request', () => {
  it('reach the handler, also as gRPC metadata', async () => {
    await toy.get('/api/v1/tasks/p/d', { 'flightlog-min-position': 'log-1.7', 'x-request-id': 'r' });
    expect(got.call).toMatchObject({ minPosition: 7n, requestId: 'r' });
    await toy.get('/api/v1/tasks/p/d', { 'grpc-metadata-idempotency-key': 'k' });
    expect(got.call).toMatchObject({ idempotencyKey: 'k' });
  });

  it('may not name a position of another log', async () => {
    const response = await toy.get('/api/v1/tasks/p/d', { 'flightlog-min-position': 'log-2.7' });
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toContain('another log');
  });

  it('may set a deadline in grpc-timeout', async () => {
    const response = await toy.get('/api/v1/executions/p/d/slow', { 'grpc-timeout': '50m' });
    expect(response.status).toBe(504);
    // The timer of the deadline cannot fire while the handler keeps the thread.
    expect((await toy.get('/api/v1/executions/p/d/busy', { 'grpc-timeout': '50m' })).status).toBe(504);
    expect((await toy.get('/api/v1/tasks/p/d', { 'grpc-timeout': 'soon' })).status).toBe(400);
  });
});

describe('a parameter of the query that changes nothing', () => {
  /** The HTTP status, and the header with the names of the parameters that were ignored. */
  const ignored = async (path: string, verb = 'GET'): Promise<readonly [number, string | null]> => {
    const { status, headers } = await toy.send(verb, `/api/v1/${path}`);
    return [status, headers.get('flightlog-ignored')];
  };

  it('is accepted, and named in the answer', async () => {
    expect(await ignored('tasks/p/d?sort_by.keys=a&limit=1&colour=red&colour=blue')).toEqual([
      200,
      'sort_by.keys, colour',
    ]);
    expect(await ignored('tasks/p/d?limit=1&sortBy.key=a&id.name=n')).toEqual([200, null]);
    expect(await ignored('tasks/p/d')).toEqual([200, null]);
  });

  it('is one that the path gives already, or any one where the request is a body', async () => {
    expect(await ignored('tasks/p/d/n?id.project=other')).toEqual([200, 'id.project']);
    expect(await ignored('executions?project=p', 'POST')).toEqual([200, 'project']);
  });

  it('is named in errors too', async () => {
    expect(await ignored('executions/p/d/bug?colour=red')).toEqual([500, 'colour']);
    expect(await ignored('tasks/p/d?colour=red&limit=many')).toEqual([400, 'colour']);
  });

  it('is escaped as in a URL, and long lists end with how many are left out', async () => {
    expect(await ignored('tasks/p/d?a%0D%0AX-Evil%3A%201=1&%C3%BC%2C=2')).toEqual([
      200,
      'a%0D%0AX-Evil%3A%201, %C3%BC%2C',
    ]);
    const many = Array.from({ length: 500 }, (_, at) => `colour-${at}=x`).join('&');
    const [status, names] = await ignored(`tasks/p/d?${many}`);
    expect([status, names!.length < 1_100]).toEqual([200, true]);
    expect(names).toMatch(/^colour-0, colour-1, .*, and \d+ more$/u);
    expect(await ignored(`tasks/p/d?${'x'.repeat(5_000)}=1`)).toEqual([200, 'and 1 more']);
  });
});

describe('paths that are no RPC', () => {
  it.each(['GET', 'POST', 'DELETE', 'HEAD'])('/healthcheck is 200 without a body, also for %s', async (verb) => {
    const response = await toy.send(verb, '/healthcheck');
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });

  it('/readyz is 503 with the check that is down, and /healthz is not affected', async () => {
    const own = await overHttp(routes, [], {
      checks: () => [{ name: 'log', state: 'down', why: 'it cannot be reached' }],
    });
    const refused = await own.get('/readyz');
    expect(refused.status).toBe(503);
    expect(await refused.json()).toEqual({
      ready: false,
      checks: { log: { state: 'down', why: 'it cannot be reached' } },
    });
    const alive = await own.get('/healthz');
    expect([alive.status, await alive.json()]).toEqual([200, { alive: true }]);
    await own.close();
  });

  it('/readyz names what is degraded, and the process is still ready', async () => {
    const own = await overHttp(routes, [], { checks: () => [{ name: 'export', state: 'degraded', lagMs: 9_000 }] });
    const answer = await own.get('/readyz');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ ready: true, checks: { export: { state: 'degraded', lagMs: 9_000 } } });
    await own.close();
  });
});

describe('without authentication', () => {
  it.each([
    '/config/v1/flyte_client',
    '/api/v1/auth/client_config',
    '/.well-known/oauth-authorization-server',
    '/me',
    '/api/v1/me',
  ])('%s is answered with empty values alone', async (path) => {
    const response = await toy.get(path);
    expect(response.status).toBe(200);
    const values = Object.values((await response.json()) as object);
    expect(values.length).toBeGreaterThan(4);
    expect(values.filter((value) => ![null, '', []].some((empty) => isDeepStrictEqual(value, empty)))).toEqual([]);
  });
});

describe('a caller', () => {
  it('that disconnects while it sends its request makes the request CANCELLED, not a bug', async () => {
    const requestError = new Promise((resolve) => {
      const server = createServer((request) => request.on('error', (error) => server.close(() => resolve(error))));
      server.listen(0, '127.0.0.1', () => {
        const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
        socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{', () => socket.destroy());
      });
    });
    expect(requestFault(await requestError, 1)).toMatchObject({ code: 'CANCELLED' });
  });
});

describe('a server that closes', () => {
  it('does not wait for a connection on which nothing has come', async () => {
    const own = await overHttp(routes);
    const silent = connect(Number(new URL(own.url).port), '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));
    const closed = new Promise((resolve) => silent.once('close', resolve));
    await own.server.close({ drainMs: 60_000 });
    await closed;
  });

  it('answers a request that has arrived on an idle connection, and then closes the connection', async () => {
    const own = await overHttp(routes);
    const port = Number(new URL(own.url).port);
    const sockets = Array.from({ length: 10 }, () => connect(port, '127.0.0.1'));
    const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
    const received = await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<string[]>((resolve) => {
            const texts: string[] = [];
            socket.on('data', (bytes) => {
              texts.push(bytes.toString());
              if (texts.length === 1) resolve(texts);
            });
            socket.write(request);
          }),
      ),
    );
    const ended = sockets.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
    for (const socket of sockets) socket.write(request);
    await own.server.close({ drainMs: 5_000 });
    await Promise.all(ended);
    for (const [first, second] of received) {
      expect(first).not.toContain('connection: close');
      expect(second).toContain('HTTP/1.1 200');
      expect(second).toContain('connection: close');
    }
  });

  it(
    'answers clients that send without a pause, and resets none of their connections',
    { timeout: 60_000 },
    async () => {
      const own = await overHttp(routes);
      const port = Number(new URL(own.url).port);
      const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
      let answers = 0;
      /** Sends the next request when one is answered; resolves to the number of requests that are not answered. */
      const sendAll = (): Promise<number> =>
        new Promise((resolve, reject) => {
          const socket = connect(port, '127.0.0.1');
          let open = 0;
          const send = (): void => {
            if (!socket.writable) return;
            open += 1;
            socket.write(request);
          };
          socket.on('data', (bytes) => {
            open -= 1;
            answers += 1;
            if (!bytes.includes('connection: close')) setImmediate(() => setImmediate(send));
          });
          socket.once('connect', send).once('error', reject);
          socket.once('close', () => resolve(open));
        });
      const clients = Array.from({ length: 20 }, sendAll);
      await expect.poll(() => answers, { timeout: 20_000 }).toBeGreaterThan(100);
      await own.server.close({ drainMs: 5_000 });
      expect(await Promise.all(clients)).toEqual(clients.map(() => 0));
    },
  );

  it('waits for requests in flight, and cuts off those that are not answered in time', async () => {
    let release: (() => void) | undefined;
    const own = await overHttp([
      route(method.getTask, async () => {
        await new Promise<void>((resolve) => (release = resolve));
        return create(TaskSchema, { shortDescription: 'finished' });
      }),
    ]);
    const onItsWay = own.get('/api/v1/tasks/p/d/n/v');
    await expect.poll(() => release).toBeDefined();
    const closed = own.server.close({ drainMs: 5_000 });
    release?.();
    expect(await (await onItsWay).json()).toMatchObject({ shortDescription: 'finished' });
    await closed;

    const stuck = await overHttp([route(method.getTask, () => new Promise(() => undefined))]);
    const cut = stuck.get('/api/v1/tasks/p/d/n/v').then(
      () => 'answered',
      () => 'cut off',
    );
    await stuck.get('/healthz');
    await stuck.server.close({ drainMs: 20 });
    expect(await cut).toBe('cut off');
  });
});
