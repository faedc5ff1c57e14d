import { connect } from 'node:http2';

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ExecutionCreateRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../support/requests/fixtures.js';
import { type GrpcClient, grpcClient } from '../support/clients/grpc-client.js';
import { helloRequest, literal } from '../support/requests/hello.js';
import { type RestAnswer, type RestClient, restClient } from '../support/clients/rest-client.js';

const CREATE = '/platformidl.service.AdminService/CreateExecution';
const EVENT = '/flyteidl.service.AdminService/CreateNodeEvent';
const JSON_TYPE = { 'content-type': 'application/json' };
const OCTETS = { 'content-type': 'application/octet-stream' };
const MAX_BYTES = 64 * 1024 * 1024;

/** A valid launch and a valid event, as recorded from clients. */
const recorded = fixtureBytes('01-hello/execute-02.create_request.pb');
const event = fixtureBytes('events/hello-succeeds/004-node.event_request.pb');
/** A launch whose inputs are lists in lists, 2,000 deep. */
const deep = fixtureBytes('invalid/107-execution-deep-literal.create_request.pb');

const launchPlan = {
  id: {
    resourceType: 'LAUNCH_PLAN',
    project: 'flytesnacks',
    domain: 'development',
    name: 'conditional',
    version: 'v1',
  },
  spec: {
    workflowId: {
      resourceType: 'WORKFLOW',
      project: 'flytesnacks',
      domain: 'development',
      name: 'hello.hello',
      version: 'v1',
    },
  },
};

/** Lists in lists, `depth` deep, as JSON of a map of literals. */
const nestedLiteral = (depth: number): string =>
  `{"literals":{"times":${'{"collection":{"literals":['.repeat(depth)}${']}}'.repeat(depth)}}}`;
const nested = (depth: number): string => `{"inputs":${nestedLiteral(depth)}}`;

let plane: ControlPlane;
let grpc: GrpcClient;
let rest: RestClient;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  grpc = grpcClient(plane.server().ready.grpc);
  rest = restClient(plane.server().ready.http);
});
afterAll(async () => {
  grpc.close();
  await plane.close();
});

const post = (body: string | Uint8Array, headers?: Record<string, string>): Promise<RestAnswer> =>
  rest.request('POST', '/api/v1/executions', body, headers);

describe('bytes over gRPC that cannot be decoded are INVALID_ARGUMENT, and the text says why', () => {
  it.each([
    ['truncated', CREATE, recorded.subarray(0, -7), /cannot decode ExecutionCreateRequest: .*inputs.* ends early/u],
    ['truncated event', EVENT, event.subarray(0, -5), /cannot decode NodeExecutionEventRequest: event\S* ends early/u],
    ['nested two thousand deep', CREATE, deep, /inputs.*nested deeper than 100/u],
    ['not protobuf at all', CREATE, Buffer.from('{"project":"flytesnacks"}'), /cannot decode ExecutionCreateRequest/u],
    ['text that is not UTF-8', CREATE, Buffer.from([0x0a, 0x02, 0xc3, 0x28]), /project is not valid UTF-8/u],
    ['another wire type', CREATE, Buffer.from([0x08, 0x01]), /project has wire type 0 in place of 2/u],
  ] as const)('%s', async (_what, path, bytes, text) => {
    const { code, message } = await plane.unchanged(() => grpc.raw(path, bytes));
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(text)]);
  });
});

describe('invalid bodies over REST are INVALID_ARGUMENT, and the text says why', () => {
  const truncated = '{"project":"flytesnacks","domain":';
  it.each([
    ['truncated JSON', truncated, {}, /malformed JSON/u],
    ['truncated JSON, with a JSON content type', truncated, JSON_TYPE, /malformed JSON/u],
    ['text that is not JSON', 'project=flytesnacks', {}, /malformed JSON/u],
    ['JSON that is no message', '[1, 2]', {}, /invalid request: the body is an array/u],
    ['a number for a text', '{"project":7}', {}, /invalid value for project/u],
    ['a text for a message', '{"spec":"hello"}', {}, /invalid value for spec/u],
    [
      'a mode that does not exist, with a JSON content type',
      '{"spec":{"metadata":{"mode":"SOON"}}}',
      JSON_TYPE,
      /spec\.metadata\.mode/u,
    ],
    ['an unknown field, with a JSON content type', '{"colour":"red"}', JSON_TYPE, /colour/u],
    ['nested two thousand deep', nested(2_000), {}, /inputs.*depth of 100/u],
    ['nested two thousand deep, with a JSON content type', nested(2_000), JSON_TYPE, /inputs.*depth of 100/u],
    [
      'protobuf cut short',
      recorded.subarray(0, -7),
      OCTETS,
      /cannot decode ExecutionCreateRequest: .*inputs.* ends early/u,
    ],
    ['protobuf nested two thousand deep', deep, OCTETS, /inputs.*nested deeper than 100/u],
    [
      'JSON, with the content type of protobuf',
      '{"project":"flytesnacks"}',
      OCTETS,
      /cannot decode ExecutionCreateRequest/u,
    ],
    ['protobuf, with a JSON content type', recorded, JSON_TYPE, /malformed JSON/u],
    ['protobuf, with the content type text/plain', recorded, { 'content-type': 'text/plain' }, /malformed JSON/u],
  ] as const)('%s', async (_what, body, headers, text) => {
    const { http, code, message } = await plane.unchanged(() => post(body, headers));
    expect([http, code, message]).toEqual([400, 'INVALID_ARGUMENT', expect.stringMatching(text)]);
  });

  it('an event that is truncated', async () => {
    const { code, message } = await plane.unchanged(() =>
      rest.request('POST', '/api/v1/events/nodes', '{"event":{"id"'),
    );
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(/malformed JSON/u)]);
  });

  it('an event with an unknown phase', async () => {
    const executionId = { project: 'flytesnacks', domain: 'development', name: 'hello-defaults' };
    const body = JSON.stringify({ event: { executionId, phase: 99, occurredAt: '2026-01-01T00:00:00Z' } });
    const { code, message } = await plane.unchanged(() => rest.request('POST', '/api/v1/events/workflows', body));
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(/phase/u)]);
  });

  it('a launch plan with a launch condition, under either package name of its type', async () => {
    for (const name of ['flyteidl', 'platformidl']) {
      const launchConditions = { '@type': `type.googleapis.com/${name}.core.Identifier`, name: 'x' };
      const body = { ...launchPlan, spec: { ...launchPlan.spec, entityMetadata: { launchConditions } } };
      const answer = await plane.unchanged(() => rest.request('POST', '/api/v1/launch_plans', JSON.stringify(body)));
      expect([answer.code, answer.message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(/launch.?condition/iu)]);
    }
  });
});

describe('a path or HTTP method that no RPC has', () => {
  it.each([
    ['GET /api/v1/nothing', 404, 'NOT_FOUND', 'Not Found'],
    ['POST /api/v2/executions', 404, 'NOT_FOUND', 'Not Found'],
    ['GET /api/v1/executions/flytesnacks/development/a%2Fb/c', 404, 'NOT_FOUND', 'Not Found'],
    ['PATCH /api/v1/executions', 501, 'UNIMPLEMENTED', 'Method Not Allowed'],
    ['DELETE /api/v1/projects', 501, 'UNIMPLEMENTED', 'Method Not Allowed'],
  ])('over REST: %s is %i', async (asked, http, code, message) => {
    const [verb = '', path = ''] = asked.split(' ');
    expect(await plane.unchanged(() => rest.request(verb, path))).toMatchObject({ http, code, message });
  });

  it('over REST: a path that cannot be decoded is INVALID_ARGUMENT', async () => {
    const answer = await plane.unchanged(() => rest.request('GET', '/api/v1/projects/%ff'));
    expect(answer).toMatchObject({
      http: 400,
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/path/u) as string,
    });
  });

  it.each(['/platformidl.service.AdminService/LaunchRocket', '/somebody.else/GetExecution'])(
    'over gRPC: %s is UNIMPLEMENTED',
    async (path) => {
      expect(await plane.unchanged(() => grpc.raw(path, recorded))).toMatchObject({ code: 'UNIMPLEMENTED' });
    },
  );
});

describe('a message above the size limit', () => {
  // A valid message with a name of 64 MiB: field 3, wire type 2, and its length in four bytes.
  const oversized = Buffer.concat([Buffer.from([0x1a, 0x80, 0x80, 0x80, 0x20]), Buffer.alloc(MAX_BYTES, 'a')]);

  it('is RESOURCE_EXHAUSTED over gRPC, in the words that engines look for', async () => {
    const before = await plane.head();
    const { code, message } = await grpc.raw(EVENT, oversized);
    expect([code, message]).toEqual(['RESOURCE_EXHAUSTED', expect.stringMatching(/message larger than max/u)]);
    expect(await plane.head()).toBe(before);
  });

  it.each([
    ['bytes', OCTETS],
    ['JSON', JSON_TYPE],
  ])('is RESOURCE_EXHAUSTED over REST, in %s', async (_name, headers) => {
    const before = await plane.head();
    const { http, code, message } = await post(oversized, headers);
    expect([http, code, message]).toEqual([
      429,
      'RESOURCE_EXHAUSTED',
      expect.stringMatching(/message larger than max/u),
    ]);
    expect(await plane.head()).toBe(before);
  });

  it.each(['grpc', 'rest'] as const)(
    'has more than 6 MiB: a launch with an input of 6 MiB is accepted over %s',
    async (way) => {
      const text = 'x'.repeat(6 * 1024 * 1024);
      const request = helloRequest(`large-over-${way}`, ({ inputs }) => {
        inputs!.literals['name'] = create(LiteralSchema, literal(text));
      });
      const { id } = await plane[way].call(AdminService.method.createExecution, request);
      const { fullInputs } = await plane[way].call(AdminService.method.getExecutionData, { id: id! });
      expect(fullInputs!.literals['name']).toMatchObject(literal(text));
    },
  );
});

describe('a content type', () => {
  /** One HTTP/2 request with a content type that no gRPC client sends. */
  const http2 = (contentType: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const session = connect(`http://${plane.server().ready.grpc}`);
      session.once('error', reject);
      const stream = session.request({ ':method': 'POST', ':path': CREATE, 'content-type': contentType });
      stream.once('response', (headers) => {
        resolve(Number(headers[':status']));
        session.close();
        stream.close();
      });
      stream.end(recorded);
    });

  it.each(['application/json', 'text/html'])(
    'that is not of gRPC is refused over gRPC with HTTP status 415: %s',
    async (contentType) => {
      expect(await plane.unchanged(() => http2(contentType))).toBe(415);
    },
  );

  it('other than application/octet-stream means JSON over REST', async () => {
    const request = fromBinary(ExecutionCreateRequestSchema, recorded);
    const asJson = JSON.stringify({ project: request.project, domain: request.domain, name: 'UPPER', spec: {} });
    for (const type of ['text/plain', 'application/xml', 'nonsense', 'application/json; charset=utf-8']) {
      const { http, message } = await plane.unchanged(() => post(asJson, { 'content-type': type }));
      expect([http, message]).toEqual([400, expect.stringMatching(/invalid name format: UPPER/u)]);
    }
  });

  it('of bytes, for the request or in `accept`, makes an error bytes as well', async () => {
    const bytes = toBinary(ExecutionCreateRequestSchema, helloRequest('UPPER'));
    const { headers, code } = await post(bytes, OCTETS);
    expect([headers.get('content-type'), code]).toEqual(['application/octet-stream', 'INVALID_ARGUMENT']);
    const asked = await post('{}', { accept: 'application/octet-stream' });
    expect([asked.headers.get('content-type'), asked.code]).toEqual(['application/octet-stream', 'INVALID_ARGUMENT']);
  });
});

describe('a list request with an invalid query, over REST', () => {
  it.each([
    ['sort_by.key=', /invalid sort key ''/u],
    ['sort_by.key=colour', /invalid sort key 'colour'/u],
    ['sortBy.key=created_at&sortBy.direction=UPWARDS', /direction/u],
    ['limit=ten', /invalid value for limit/u],
    ['limit=-1', /invalid value for limit/u],
    ['limit=1&limit=2', /invalid value for limit: given more than once/u],
    ['filters=eq(phase,RUNNING)+eq(mode,0)', /unrecognized filter function: eq\(phase,RUNNING\) eq/u],
  ])('is INVALID_ARGUMENT: ?%s', async (query, text) => {
    const path = `/api/v1/executions/flytesnacks/development?${query}`;
    const { http, code, message } = await plane.unchanged(() => rest.request('GET', path));
    expect([http, code, message]).toEqual([400, 'INVALID_ARGUMENT', expect.stringMatching(text)]);
  });
});

it('no RPC of AdminService over gRPC answers UNKNOWN or INTERNAL to other RPCs’ messages or nonsense', async () => {
  const before = await plane.head();
  for (const { name } of AdminService.methods) {
    for (const bytes of [recorded, deep, event, Buffer.from('nonsense'), recorded.subarray(3)]) {
      const { code } = await grpc.raw(`/platformidl.service.AdminService/${name}`, bytes);
      expect([name, code]).not.toEqual([name, 'UNKNOWN']);
      expect([name, code]).not.toEqual([name, 'INTERNAL']);
    }
  }
  expect(await plane.head()).toBeGreaterThan(before); // `recorded` launches an execution
});
