import { createServer } from 'node:http';
import { once } from 'node:events';

import { create, toBinary } from '@bufbuild/protobuf';
import { type handleServerStreamingCall, Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it } from 'vitest';

import {
  ExecutionWatchService,
  WatchRequestSchema,
  WatchResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { transportTo } from '../../../services/cli/client/connection/connect.js';
import type { Profile } from '../../../services/cli/client/connection/profile.js';
import { profileIn } from '../../../services/cli/client/connection/profile-file.js';
import { ConnectionLost } from '../../../services/cli/client/connection/refusal.js';
import { startProxy } from '../../support/proxies/proxy.js';

const METHOD = ExecutionWatchService.method.watch;
const PROFILE = profileIn('admin:\n  endpoint: 127.0.0.1:1\n  insecure: true', 'config.yaml');

type Address = Profile['address'];
type Serving = { readonly port: number; readonly close: () => void };

const asIs = (bytes: Buffer): Buffer => bytes;

const portOf = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound));
  });

/** Answers each watch with one message over gRPC, and never ends it. */
const overGrpc = async (): Promise<Serving> => {
  const server = new Server();
  const watch: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    call.on('error', () => undefined);
    call.write(Buffer.from(toBinary(WatchResponseSchema, create(WatchResponseSchema, { hasMore: true }))));
  };
  server.register(`/${METHOD.parent.typeName}/${METHOD.name}`, watch, asIs, asIs, 'serverStream');
  return { port: await portOf(server), close: () => server.forceShutdown() };
};

/** Answers each watch with one message as a server-sent event, and never ends it. */
const overRest = async (): Promise<Serving> => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"hasMore": true}\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as { port: number }).port, close: () => server.close() };
};

it.each([
  [
    'gRPC',
    overGrpc,
    (address: string): Address => ({ kind: 'grpc', target: address, isPlain: true, skipVerify: false }),
  ],
  ['REST', overRest, (address: string): Address => ({ kind: 'rest', url: `http://${address}` })],
])(
  'a connection over %s that breaks in the middle of an answer is not taken for a server that never answered',
  async (_, serve, addressOf) => {
    const { port, close } = await serve();
    const proxy = await startProxy(`127.0.0.1:${port}`);
    const transport = await transportTo({ ...PROFILE, address: addressOf(proxy.address) });
    const open = () =>
      transport.open(METHOD, create(WatchRequestSchema, { project: 'p', domain: 'd' }), {
        headers: {},
        signal: new AbortController().signal,
      });
    const reading = open()[Symbol.asyncIterator]();
    await reading.next();
    proxy.shut();
    await expect(reading.next()).rejects.toBeInstanceOf(ConnectionLost);
    await proxy.close();
    await expect(open()[Symbol.asyncIterator]().next()).rejects.not.toBeInstanceOf(ConnectionLost);
    transport.close();
    close();
  },
);

it('a connection over gRPC that breaks before the first headers is not taken for a server that never answered', async () => {
  const server = new Server();
  const proxy = { shut: (): void => undefined };
  const watch: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    call.on('error', () => undefined);
    proxy.shut();
  };
  server.register(`/${METHOD.parent.typeName}/${METHOD.name}`, watch, asIs, asIs, 'serverStream');
  const port = await portOf(server);
  const started = await startProxy(`127.0.0.1:${port}`);
  proxy.shut = started.shut;
  const address: Address = { kind: 'grpc', target: started.address, isPlain: true, skipVerify: false };
  const transport = await transportTo({ ...PROFILE, address });
  const options = { headers: {}, signal: new AbortController().signal };
  const request = create(WatchRequestSchema, { project: 'p', domain: 'd' });
  const reading = transport.open(METHOD, request, options)[Symbol.asyncIterator]();
  await expect(reading.next()).rejects.toBeInstanceOf(ConnectionLost);
  transport.close();
  await started.close();
  server.forceShutdown();
});

it('a connection over REST that breaks before the first headers is not taken for a server that never answered', async () => {
  const server = createServer(({ socket }) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const transport = await transportTo({ ...PROFILE, address: { kind: 'rest', url: `http://127.0.0.1:${port}` } });
  const options = { headers: {}, signal: new AbortController().signal };
  const request = create(WatchRequestSchema, { project: 'p', domain: 'd' });
  const reading = transport.open(METHOD, request, options)[Symbol.asyncIterator]();
  await expect(reading.next()).rejects.toBeInstanceOf(ConnectionLost);
  server.close();
});
