import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ProjectRegisterRequestSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type LiteralMap, LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { statuses } from '../../../services/gateway/status.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest, launchHello, literal } from '../../support/requests/hello.js';
import { PLACE } from '../../support/requests/registrations.js';
import { type ExecutionId, nodeReport, taskReport, workflowReport } from '../../support/requests/reports.js';
import type { Transport } from '../../support/clients/transports.js';
import { wideWorkflow } from '../../support/requests/wide-workflow.js';

const { method } = AdminService;
const WAYS = ['grpc', 'rest'] as const;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

/** A map that is encoded in exactly this many bytes. */
const mapOf = (bytes: number): LiteralMap => {
  for (let length = bytes; length > 0; length -= 1) {
    const map = create(LiteralMapSchema, { literals: { o0: literal('x'.repeat(length)) } });
    if (toBinary(LiteralMapSchema, map).length === bytes) return map;
  }
  throw new Error(`no map has ${bytes} bytes`);
};

const MAX_OUTPUT_BYTES = 2 * 1024 * 1024;
const outputs = (bytes: number) => ({ outputResult: { case: 'outputData', value: mapOf(bytes) } }) as const;

type Send = (transport: Transport, id: ExecutionId, bytes: number) => ReturnType<Transport['attempt']>;

/** Sends the event of a workflow, node or task whose outputs are encoded in this many bytes. */
const sendOutputsOf: Readonly<Record<string, Send>> = {
  workflow: ({ attempt }, id, bytes) =>
    attempt(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED, ...outputs(bytes) })),
  node: ({ attempt }, id, bytes) =>
    attempt(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.SUCCEEDED, ...outputs(bytes) })),
  task: ({ attempt }, id, bytes) =>
    attempt(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.SUCCEEDED, ...outputs(bytes) })),
};

describe.each(WAYS)('over %s', (way) => {
  it.each(['node', 'task', 'workflow'])('the outputs in the event of a %s may have 2 MiB, and no more', async (of) => {
    const id = await launchHello(plane.grpc, `outputs-${of}-${way}`);
    if (of === 'task')
      await plane.grpc.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING }));
    const above = await plane.unchanged(async () => sendOutputsOf[of]!(plane[way], id, MAX_OUTPUT_BYTES + 1));
    expect(above).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: `Output data size exceeds platform configured threshold (${MAX_OUTPUT_BYTES + 1} > ${MAX_OUTPUT_BYTES})`,
    });
    expect(await sendOutputsOf[of]!(plane[way], id, MAX_OUTPUT_BYTES)).toMatchObject({ code: 'OK' });
  });

  it('the name of an execution may have 63 characters, and no more; a generated name has 20', async () => {
    const name = `n${way}`.padEnd(63, 'x');
    const above = await plane.unchanged(() => plane[way].attempt(method.createExecution, helloRequest(`${name}x`)));
    expect(above).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('size of name exceeded length 63') as string,
    });
    const { id } = await plane[way].call(method.createExecution, helloRequest(name));
    expect(id!.name).toBe(name);
    const nameless = await plane[way].call(method.createExecution, helloRequest(''));
    expect(nameless.id!.name).toMatch(/^a[bcdfghjklmnpqrstvwxz2456789]{19}$/u);
  });

  it('the maximum parallelism of an execution is 25 by default', async () => {
    const { id } = await plane[way].call(method.createExecution, helloRequest(''));
    const { spec } = await plane[way].call(method.getExecution, { id: id! });
    expect(spec!.maxParallelism).toBe(25);
  });

  it('a list accepts the largest limit that can be sent, 2^32 − 1', async () => {
    const { executions } = await plane[way].call(method.listExecutions, { id: PLACE, limit: 2 ** 32 - 1 });
    expect(executions.length).toBeGreaterThan(0);
  });
});

describe('the text of a status', () => {
  /** Names a launch plan that does not exist; the refusal names it too, and is cut to the limit. */
  const longName = helloRequest('', ({ spec }) => (spec!.launchPlan!.name = 'é'.repeat(100_000)));

  it('has at most 32,000 bytes over REST', async () => {
    const { code, message } = await plane.rest.attempt(method.createExecution, longName);
    expect(code).toBe('NOT_FOUND');
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(32_000);
    expect(Buffer.byteLength(message)).toBeGreaterThan(31_990);
    expect(message).not.toContain('\ufffd'); // no character is cut in two
  });

  it('has at most 6,000 bytes over gRPC, percent-encoded, because clients refuse 8 kB of metadata', async () => {
    const { code, message } = await plane.grpc.attempt(method.createExecution, longName);
    expect(code).toBe('NOT_FOUND');
    expect(encodeURI(message).length).toBeLessThanOrEqual(6_000);
    expect(message).toMatch(/^missing entity of type LAUNCH_PLAN .*…$/su);
  });
});

describe('a message over gRPC', () => {
  const MAX_BYTES = 64 * 1024 * 1024;

  /** A message of exactly this many bytes, which is refused for its long description if it is decoded. */
  const messageOf = (bytes: number): Uint8Array => {
    const request = create(ProjectRegisterRequestSchema, { project: { id: 'large', description: 'x'.repeat(bytes) } });
    const { project } = request;
    const tooMany = toBinary(ProjectRegisterRequestSchema, request).length - bytes;
    project!.description = project!.description.slice(tooMany);
    return toBinary(ProjectRegisterRequestSchema, request);
  };

  it('may have 64 MiB, and no more', async () => {
    const largest = messageOf(MAX_BYTES);
    expect(largest.length).toBe(MAX_BYTES);
    expect(await plane.grpc.send('RegisterProject', largest)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const above = await plane.grpc.send('RegisterProject', messageOf(MAX_BYTES + 1));
    expect(above).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: expect.stringContaining('message larger than max') as string,
    });
  });
});

describe('a workflow, where the settings say how large it may be', () => {
  const MAX_NODES = 400;
  const MAX_SIZE_BYTES = 200_000;
  let small: ControlPlane;

  beforeAll(async () => {
    small = await startControlPlane({
      FLIGHTLOG_REGISTRATION_MAX_WORKFLOW_NODES: String(MAX_NODES),
      FLIGHTLOG_REGISTRATION_WORKFLOW_SIZE_LIMIT: String(MAX_SIZE_BYTES),
    });
    await register(small.grpc, withNeeds('01-hello'));
  });
  afterAll(() => small.close());

  const createWide = (nodes: number, version: string, way: (typeof WAYS)[number]) =>
    small[way].attempt(method.createWorkflow, wideWorkflow(version, nodes));

  it.each(WAYS)('may have as many nodes as the settings say, and no more: over %s', async (way) => {
    const above = await small.unchanged(() => createWide(MAX_NODES + 1, `above-${way}`, way));
    expect(above).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/number of nodes in workflow .* exceeds limit \(401 > 400\)/u) as string,
    });
    expect(await createWide(MAX_NODES, `at-${way}`, way)).toMatchObject({ code: 'OK' });
  });

  it.each(WAYS)('is refused with more bytes than the settings say: over %s', async (way) => {
    const above = await small.unchanged(() => createWide(10 * MAX_NODES, `large-${way}`, way));
    const [, limit, bytes] = /exceeds max limit \[(\d+)\]: it has (\d+) bytes/u.exec(above.message) ?? [];
    expect([above.code, limit]).toEqual(['INVALID_ARGUMENT', String(MAX_SIZE_BYTES)]);
    expect(Number(bytes)).toBeGreaterThan(MAX_SIZE_BYTES);
  });
});

describe('the headers of a request over HTTP', () => {
  /** Sends bytes over a new connection; returns the bytes received until the server closes it. */
  const exchange = (sent: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(plane.server().ready.http);
      let received = '';
      connect(Number(port), hostname)
        .once('error', reject)
        .once('close', () => resolve(received))
        .on('data', (chunk: Buffer) => (received += chunk.toString()))
        .end(sent);
    });
  const getWithPadding = (headerBytes: number): Promise<string> =>
    exchange(`GET /api/v1/version HTTP/1.1\r\nhost: x\r\nx-padding: ${'x'.repeat(headerBytes)}\r\n\r\n`);

  const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));

  it('may have 60,000 bytes', async () => {
    expect(await getWithPadding(60_000)).toMatch(/^HTTP\/1\.1 200 /u);
  });

  it.each([70_000, 5_000_000])('are refused above 64 KiB, with a status in JSON: %i bytes', async (bytes) => {
    const answer = await getWithPadding(bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /u);
    expect(answer).toMatch(/^content-type: application\/json\r$/mu);
    expect(bodyOf(answer)).toEqual({
      code: statuses.RESOURCE_EXHAUSTED.number,
      message: 'headers larger than max (65536 bytes)',
      details: [],
    });
  });

  it.each(['NONSENSE\r\n\r\n', 'GET / HTTP/1.1\r\nno colon\r\n\r\n'])(
    'are refused when they are malformed, as is a malformed request line: %j',
    async (sent) => {
      const answer = await exchange(sent);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /u);
      expect(bodyOf(answer)).toEqual({
        code: statuses.INVALID_ARGUMENT.number,
        message: 'malformed HTTP',
        details: [],
      });
    },
  );
});

describe('a file that is uploaded compressed', () => {
  it('is kept compressed, and its MD5 is that of the compressed bytes', async () => {
    const sent = gzipSync('a text that is compressed');
    const contentMd5 = createHash('md5').update(sent).digest();
    const located = await plane.grpc.call(DataProxyService.method.createUploadLocation, {
      ...PLACE,
      contentMd5,
      filename: 'compressed.gz',
    });
    const { status } = await fetch(located.signedUrl, {
      method: 'PUT',
      body: sent,
      headers: { ...located.headers, 'content-encoding': 'gzip' },
    });
    expect(status).toBe(200);
    expect(Buffer.compare(readFileSync(located.nativeUrl.replace('file://', '')), sent)).toBe(0);
    const { signedUrl } = await plane.grpc.call(DataProxyService.method.createDownloadLocation, {
      nativeUrl: located.nativeUrl,
    });
    const got = await fetch(signedUrl);
    expect(got.headers.get('content-encoding')).toBeNull();
    expect(Buffer.compare(Buffer.from(await got.arrayBuffer()), sent)).toBe(0);
  });
});
