import { once } from 'node:events';
import { createServer } from 'node:http';
import { create, type MessageInitShape, toBinary, toJsonString } from '@bufbuild/protobuf';
import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';

import { WorkflowExecutionGetDataResponseSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import type { LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { ExecutionWatchService, WatchResponseSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { transportTo } from '../../../services/cli/client/connection/connect.js';
import { profileOf } from '../../../services/cli/client/connection/profile-of.js';

const METHOD = AdminService.method.getExecutionData;
const { watch: WATCH } = ExecutionWatchService.method;

/** A list in a list, and so on; each list is two messages deep. */
const nested = (lists: number): MessageInitShape<typeof LiteralSchema> =>
  lists === 0 ? {} : { value: { case: 'collection', value: { literals: [nested(lists - 1)] } } };

/** Inputs that are nested deeper than a request may be. */
const INPUTS = { literals: { a: nested(60) } };
const ANSWER = create(WorkflowExecutionGetDataResponseSchema, { fullInputs: INPUTS });
const CHANGE = create(WatchResponseSchema, { executions: [{ spec: { inputs: INPUTS } }] });

/** Starts a server that answers every request with this body; gives its URL. */
const serveRest = async (type: string, body: string | Uint8Array): Promise<string> => {
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': type }).end(body));
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
};

/** Starts a server that answers METHOD with these bytes over gRPC; gives its URL. */
const serveGrpc = (body: Uint8Array): Promise<string> => {
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  const asIs = (bytes: Buffer): Buffer => bytes;
  const path = `/${METHOD.parent.typeName}/${METHOD.name}`;
  const answer: handleUnaryCall<Buffer, Buffer> = (_, callback) => callback(null, Buffer.from(body));
  server.register(path, answer, asIs, asIs, 'unary');
  return new Promise((resolve) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, port) =>
      resolve(`grpc://127.0.0.1:${port}`),
    );
  });
};

const BYTES = toBinary(WorkflowExecutionGetDataResponseSchema, ANSWER);

it.each([
  ['gRPC', () => serveGrpc(BYTES)],
  ['REST', () => serveRest('application/octet-stream', BYTES)],
  ['REST as JSON', () => serveRest('application/json', toJsonString(WorkflowExecutionGetDataResponseSchema, ANSWER))],
])('an answer is read that is nested deeper than a request may be, over %s', async (_, serve) => {
  const transport = await transportTo(profileOf({ server: await serve() }, {}));
  expect(await transport.call(METHOD, create(METHOD.input), {})).toEqual(ANSWER);
  transport.close();
});

it('an event of a stream is read that is nested deeper than a request may be', async () => {
  const url = await serveRest('text/event-stream', `data: ${toJsonString(WatchResponseSchema, CHANGE)}\n\n`);
  const transport = await transportTo(profileOf({ server: url }, {}));
  const options = { headers: {}, signal: new AbortController().signal };
  const answers = transport.open(WATCH, create(WATCH.input), options)[Symbol.asyncIterator]();
  expect((await answers.next()).value).toEqual(CHANGE);
});
