import { once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream, type Settings } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { AccessDeniedError, UnavailableError } from '@eventstore/db-client';
import { afterEach, expect, it } from 'vitest';
import { framesOf } from '../../../services/kernel/encoding/grpc-frame.js';
import { type NodeSession, nodeSession } from '../../../services/store/eventstore/nodes/node-session.js';
import { nodeSettings } from '../../../services/store/eventstore/nodes/settings.js';
import { type StreamingCall, callOn } from '../../../services/store/eventstore/wire/call.js';

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };
/** Functions that close what a test has opened. */
const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

/** Starts a node that serves each call with `serve`, and connects to it. */
const connected = async (serve: (stream: ServerHttp2Stream, path: string) => void, settings: Settings = {}) => {
  const server = createServer({ settings, maxSessionMemory: 1_000 });
  let connections = 0;
  server.on('session', (session) => {
    connections += 1;
    closers.push(() => session.destroy());
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    serve(stream, headers[':path'] ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const session = nodeSession({ host: '127.0.0.1', port }, nodeSettings(`esdb://127.0.0.1:${port}?tls=false`));
  closers.push(
    () => session.cut(),
    () => server.close(),
  );

  /** Opens a call; `ended` resolves with the messages and the error at its end. */
  const call = (
    path: string,
    onEnd: (session: NodeSession) => void = () => undefined,
  ): { call: StreamingCall; ended: Promise<{ messages: string[]; error: Error | undefined }> } => {
    const messages: string[] = [];
    let opened: StreamingCall | undefined;
    const ended = new Promise<{ messages: string[]; error: Error | undefined }>((resolve) => {
      opened = callOn(session.open({ ':method': 'POST', ':path': path }), {
        onMessages: (some) => messages.push(...some.map(String)),
        onEnd: (error) => {
          onEnd(session);
          resolve({ messages, error });
        },
      });
    });
    if (!opened) throw new Error('the call was not opened');
    return { call: opened, ended };
  };
  return { call, connections: () => connections };
};

/** Answers a call with one message and the status OK. */
const answer = (stream: ServerHttp2Stream, text: string): void => {
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(framesOf([Buffer.from(text)]));
};

it('calls are answered while more than 10 MB wait to be sent to a node', async () => {
  let readAll = (): void => undefined;
  const { call } = await connected((stream, path) => {
    if (path === '/read') {
      answer(stream, 'event');
      return;
    }
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    readAll = () => stream.resume().on('end', () => stream.end(framesOf([Buffer.from('written')])));
  });
  const append = call('/append');
  append.call.write(Array.from({ length: 32 }, () => Buffer.alloc(1024 * 1024)));
  expect(await call('/read').ended).toEqual({ messages: ['event'], error: undefined });
  append.call.end([]);
  readAll();
  expect(await append.ended).toEqual({ messages: ['written'], error: undefined });
});

it('calls beyond the 100 that a node serves at a time wait for their turn', async () => {
  const { call } = await connected((stream, path) => setImmediate(answer, stream, path), { maxConcurrentStreams: 100 });
  const paths = Array.from({ length: 250 }, (_, at) => `/${at}`);
  const ended = await Promise.all(paths.map((path) => call(path).ended));
  expect(ended).toEqual(paths.map((path) => ({ messages: [path], error: undefined })));
});

it('a node that closes its connection once calls have ended gets a new one', async () => {
  const { call, connections } = await connected((stream, path) => {
    answer(stream, path);
    stream.session?.goaway(0);
  });
  expect((await call('/first').ended).messages).toEqual(['/first']);
  expect((await call('/second').ended).messages).toEqual(['/second']);
  expect(connections()).toBe(2);
});

it('a refusal in the headers of an answer becomes an error of the client library', async () => {
  const { call } = await connected((stream) => {
    const permissionDenied = '7';
    const refusal = { 'grpc-status': permissionDenied, 'grpc-message': 'Access%20Denied', exception: 'access-denied' };
    stream.respond({ ...HEADERS, ...refusal }, { endStream: true });
  });
  expect((await call('/read').ended).error).toBeInstanceOf(AccessDeniedError);
});

it('the end of a call can cut the connection on which the ends of other calls are arriving', async () => {
  const served: ServerHttp2Stream[] = [];
  const { call } = await connected((stream) => {
    if (served.push(stream) === 30) for (const each of served) each.close(constants.NGHTTP2_CANCEL);
  });
  const calls = Array.from({ length: 30 }, (_, at) => call(`/${at}`, (session) => session.cut()));
  for (const { call: open } of calls) open.write([Buffer.alloc(100)]);
  const ended = await Promise.all(calls.map((each) => each.ended));
  expect(ended.filter(({ error }) => !(error instanceof UnavailableError))).toEqual([]);
});
