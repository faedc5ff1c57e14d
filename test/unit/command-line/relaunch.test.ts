import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';

import { create, type DescMethodUnary, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type handleUnaryCall, Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';

import { bindingOf } from '../../../interface/rest/binding.js';
import {
  type ExecutionCreateRequest,
  ExecutionCreateRequestSchema,
  ExecutionCreateResponseSchema,
  ExecutionSchema,
  WorkflowExecutionGetDataResponseSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { getExecution } from '../../../services/cli/client/executions/get-execution.js';
import { relaunch } from '../../../services/cli/client/executions/launch.js';
import { literal } from '../../support/requests/hello.js';

const SCOPE = { project: 'p', domain: 'd' };
const PLAN_ID = { ...SCOPE, resourceType: ResourceType.LAUNCH_PLAN, name: 'plan', version: 'v1' };
const NUMBER = { var: { type: { type: { case: 'simple', value: SimpleType.INTEGER } } } } as const;
const { getExecution: GET, getExecutionData: DATA, getLaunchPlan: PLAN, createExecution: CREATE } = AdminService.method;

/**
 * The header `flightlog-unread` of the execution's data, whether the data have inputs, and the create request that the
 * server got.
 */
let served: { unread: string; hasInputs: boolean; created: ExecutionCreateRequest | undefined };
let close: () => void;
/** Records what the command prints. */
let written: MockInstance<typeof process.stdout.write>;

beforeEach(() => {
  served = { unread: '', hasInputs: true, created: undefined };
  written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.restoreAllMocks();
  close();
});

const dataOf = () =>
  create(WorkflowExecutionGetDataResponseSchema, {
    ...(served.hasInputs && { fullInputs: { literals: { kept: literal(1n), changed: literal(1n) } } }),
    fullOutputs: {},
  });

/** The answer to each RPC, as bytes. */
const ANSWERS: readonly (readonly [method: DescMethodUnary, answer: (request: Buffer) => Uint8Array])[] = [
  [
    GET,
    () => toBinary(ExecutionSchema, create(ExecutionSchema, { spec: { launchPlan: PLAN_ID, overwriteCache: true } })),
  ],
  [DATA, () => toBinary(WorkflowExecutionGetDataResponseSchema, dataOf())],
  [
    PLAN,
    () =>
      toBinary(
        LaunchPlanSchema,
        create(LaunchPlanSchema, {
          closure: { expectedInputs: { parameters: { kept: NUMBER, changed: NUMBER } } },
        }),
      ),
  ],
  [
    CREATE,
    (request) => {
      served.created = fromBinary(ExecutionCreateRequestSchema, request);
      return toBinary(
        ExecutionCreateResponseSchema,
        create(ExecutionCreateResponseSchema, { id: { ...SCOPE, name: 'new' } }),
      );
    },
  ],
];

const asIs = (bytes: Buffer): Buffer => bytes;

/** Starts the server over gRPC, and gives its address. */
const overGrpc = async (): Promise<string> => {
  const server = new Server();
  for (const [method, answer] of ANSWERS) {
    const handle: handleUnaryCall<Buffer, Buffer> = ({ request }, callback) => {
      const trailers = new Metadata();
      if (method === DATA && served.unread !== '') trailers.set('flightlog-unread', served.unread);
      callback(null, Buffer.from(answer(request)), trailers);
    };
    server.register(`/${method.parent.typeName}/${method.name}`, handle, asIs, asIs, 'unary');
  }
  close = () => server.forceShutdown();
  const port = await new Promise((resolve) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound));
  });
  return `grpc://127.0.0.1:${String(port)}`;
};

/** The requests of the command, with the fields that are in their paths. */
const REQUESTS = {
  [GET.name]: { id: { ...SCOPE, name: 'old' } },
  [DATA.name]: { id: { ...SCOPE, name: 'old' } },
  [PLAN.name]: { id: PLAN_ID },
  [CREATE.name]: {},
};

/** The path of an RPC for the requests of this test. */
const pathOf = (method: DescMethodUnary): string =>
  bindingOf(method, create(method.input, REQUESTS[method.name])).path.replace(/\?.*$/u, '');

/** Starts the server over REST, and gives its address. */
const overRest = async (): Promise<string> => {
  const server: HttpServer = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [path] = (request.url ?? '').split('?');
      const [method, answer] = ANSWERS.find(([each]) => pathOf(each) === path) ?? expect.fail(`no answer to ${path}`);
      const unread = method === DATA && served.unread !== '' ? { 'flightlog-unread': served.unread } : {};
      response.writeHead(200, { 'content-type': 'application/octet-stream', ...unread });
      response.end(answer(Buffer.concat(chunks)));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  close = () => server.close();
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
};

describe.each([
  ['gRPC', overGrpc],
  ['REST', overRest],
])('a relaunch with an input changed, over %s', (_, serve) => {
  const again = async (): Promise<void> =>
    relaunch('old', { ...SCOPE, server: await serve(), output: 'name', wait: false, input: { changed: '2' } });

  it('keeps the other inputs, and like every relaunch uses the cache again', async () => {
    await again();
    expect(served.created).toMatchObject({
      spec: { overwriteCache: false, metadata: { referenceExecution: { name: 'old' } } },
      inputs: { literals: { kept: literal(1n), changed: literal(2n) } },
    });
  });

  it('is refused when the server cannot read the inputs, which would be lost', async () => {
    Object.assign(served, { unread: 'full_inputs=store-unavailable, full_outputs=corrupt-payload', hasInputs: false });
    await expect(again()).rejects.toThrow('the server cannot read the inputs of old: store-unavailable');
    expect(served.created).toBeUndefined();
  });

  it('does not need the outputs', async () => {
    served.unread = 'full_outputs=corrupt-payload';
    await again();
    expect(served.created).toBeDefined();
  });
});

it('values of an execution that the server cannot read are not printed as none', async () => {
  served.unread = 'full_outputs=corrupt-payload';
  const flags = { ...SCOPE, server: await overRest(), output: 'json', values: true } as const;
  await expect(getExecution('old', flags)).rejects.toThrow(
    'the server cannot read the outputs of old: corrupt-payload',
  );
  expect(written).not.toHaveBeenCalled();
});
