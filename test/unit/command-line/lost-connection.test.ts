import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create, toBinary } from '@bufbuild/protobuf';
import { type handleServerStreamingCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';

import {
  ExecutionWatchService,
  WatchRequestSchema,
  WatchResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { connected, transportTo } from '../../../services/cli/client/connection/connect.js';
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

const MESSAGE = Buffer.from(toBinary(WatchResponseSchema, create(WatchResponseSchema, { hasMore: true })));

/** Answers each watch with one message over gRPC, and never ends it. */
const overGrpc = async (): Promise<Serving> => {
  const server = new Server();
  const watch: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    call.on('error', () => undefined);
    call.write(MESSAGE);
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

it('a stream over gRPC whose token expires is a lost connection, and is opened again with a new token', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-expired-token-'));
  const [config, token] = [join(folder, 'config.yaml'), join(folder, 'token')];
  const sent: unknown[] = [];
  const state = { valid: 'one', expire: (): void => undefined };
  const server = new Server();
  const watch: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    const [header] = call.metadata.get('authorization');
    sent.push(header);
    state.expire = () => void call.emit('error', { code: status.UNAUTHENTICATED, details: 'the token has expired' });
    if (header === `Bearer ${state.valid}`) call.write(MESSAGE);
    else state.expire();
  };
  server.register(`/${METHOD.parent.typeName}/${METHOD.name}`, watch, asIs, asIs, 'serverStream');
  const port = await portOf(server);
  const lines = [`endpoint: 127.0.0.1:${port}`, 'insecure: true', 'authType: ExternalCommand'];
  writeFileSync(config, ['admin:', ...lines, `command: [cat, "${token}"]`].join('\n  '));
  writeFileSync(token, 'one');
  await connected({ profile: config }, async (connection) => {
    const open = () => connection.open(METHOD, { project: 'p', domain: 'd' }, new AbortController().signal);
    const first = open()[Symbol.asyncIterator]();
    expect(await first.next()).toMatchObject({ value: { hasMore: true } });
    writeFileSync(token, 'two');
    state.valid = 'two';
    state.expire();
    await expect(first.next()).rejects.toBeInstanceOf(ConnectionLost);
    expect(await open()[Symbol.asyncIterator]().next()).toMatchObject({ value: { hasMore: true } });
  });
  expect(sent).toEqual([undefined, 'Bearer one', 'Bearer one', 'Bearer two']);
  server.forceShutdown();
  rmSync(folder, { recursive: true });
});
