import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { create } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it, vi } from 'vitest';

import {
  OperationsService,
  ParkedStreamListSchema,
} from '../../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { ExecutionWatchService, WatchRequestSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { transportTo } from '../../../services/cli/client/connection/connect.js';
import { profileOf } from '../../../services/cli/client/connection/profile-of.js';
import {
  ConnectionLost,
  ForeignAnswer,
  TimedOut,
  Unreachable,
} from '../../../services/cli/client/connection/refusal.js';
import { jsonOfMessage } from '../../../services/cli/client/output/documents.js';
import { listParkedStreams } from '../../../services/cli/client/parked-stream.js';

let server: Server;
afterEach(() => server.close());

/** Starts the server of a test, and gives its URL. */
const serve = async (listener: RequestListener): Promise<string> => {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
};

/** A server that answers every request with this body. */
const answering =
  (type: string, body: string): RequestListener =>
  (_, response) => {
    response.writeHead(200, { 'content-type': type }).end(body);
  };

/** Calls the server at an address, and gives the error; a call may take `tryMs`. */
const failureOf = async (url: string, tryMs = 30_000): Promise<Error> => {
  const profile = profileOf({ server: url }, {});
  const transport = await transportTo({ ...profile, retryPolicy: { ...profile.retryPolicy, tryMs } });
  const request = create(OperationsService.method.listParkedStreams.input);
  return transport.call(OperationsService.method.listParkedStreams, request, {}).then(
    () => expect.fail('the call has succeeded'),
    (error: unknown) => error as Error,
  );
};

describe('an answer that no flightlog has given', () => {
  it.each([
    ['a page', 'text/html', '<html></html>'],
    ['other bytes', 'application/octet-stream', '<html></html>'],
    ['half of a JSON document', 'application/json', '{"streams": ['],
    ['another JSON document', 'application/json', '{"streams": 1}'],
  ])('is reported in one line when it is %s', async (_, type, body) => {
    const url = await serve(answering(type, body));
    const failure = await failureOf(url);
    expect(failure).toBeInstanceOf(ForeignAnswer);
    expect(failure.message).toBe(`the answer from ${url} is not one of flightlog; --server names another`);
  });

  it.each([
    ['a page', 'text/html', '<html></html>'],
    ['an event without a message', 'text/event-stream', 'data: <html></html>\n\n'],
  ])('ends a stream, which would otherwise be opened again without end, when it is %s', async (_, type, body) => {
    const transport = await transportTo(profileOf({ server: await serve(answering(type, body)) }, {}));
    const { watch } = ExecutionWatchService.method;
    const options = { headers: {}, signal: new AbortController().signal };
    const answers = transport.open(watch, create(WatchRequestSchema, {}), options)[Symbol.asyncIterator]();
    await expect(answers.next()).rejects.toBeInstanceOf(ForeignAnswer);
  });
});

it('an answer that is cut off is a lost connection', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': '100' });
    response.write('abc', () => response.destroy());
  });
  const failure = await failureOf(url);
  expect(failure).toBeInstanceOf(ConnectionLost);
  expect(failure.message).toContain(`${url}: the connection was lost before the answer was complete`);
});

it.each<[string, RequestListener]>([
  ['has not begun', () => undefined],
  [
    'has begun and does not end',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).write('abc');
    },
  ],
  ['is an error that does not end', (_, response) => response.writeHead(500).flushHeaders()],
])(
  'an answer that %s is reported after the time limit of a call, with the address of the server',
  async (_, listener) => {
    const url = await serve(listener);
    const failure = await failureOf(url, 500);
    server.closeAllConnections();
    expect(failure).toBeInstanceOf(TimedOut);
    expect(failure.message).toBe(`${url}: no complete answer within 0.5 s; the server may still do what was asked`);
  },
);

it('a stream may take longer than a call before it begins', async () => {
  const [CALL_LIMIT_MS, BEGINS_AFTER_MS] = [100, 400];
  const url = await serve((_, response) => {
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {}\n\n'),
      BEGINS_AFTER_MS,
    );
  });
  const profile = profileOf({ server: url }, {});
  const transport = await transportTo({ ...profile, retryPolicy: { ...profile.retryPolicy, tryMs: CALL_LIMIT_MS } });
  const options = { headers: {}, signal: new AbortController().signal };
  const request = create(WatchRequestSchema, {});
  const answers = transport.open(ExecutionWatchService.method.watch, request, options)[Symbol.asyncIterator]();
  expect((await answers.next()).done).toBe(false);
});

it('a server that cannot be reached is reported with the reason', async () => {
  const url = await serve(answering('text/html', ''));
  server.close();
  await once(server, 'close');
  const failure = await failureOf(url);
  expect(failure).toBeInstanceOf(Unreachable);
  const [, address = ''] = url.split('//');
  expect(failure.message).toBe(`no server answers at ${url} (connect ECONNREFUSED ${address}); --server names another`);
  const overGrpc = await failureOf(`grpc://${address}`);
  expect(overGrpc.message).toBe(
    `no server answers at ${address} (connect ECONNREFUSED ${address}); --server names another`,
  );
});

it.each(['flightlog.invalid:81', '[::1:81'])(
  'a server whose name cannot be resolved is reported over gRPC with the reason: %s',
  async (target) => {
    const { message } = await failureOf(`grpc://${target}`);
    expect(message).toBe(`no server answers at ${target} (its name cannot be resolved); --server names another`);
  },
);

it('a server without TLS is reported with the error of the TLS library, without file and line of its sources', async () => {
  const [, address = ''] = (await serve(answering('text/html', ''))).split('//');
  for (const protocol of ['https', 'grpcs'])
    expect((await failureOf(`${protocol}://${address}`)).message).toMatch(
      / \(TLS: [a-z ]+\); --server names another$/u,
    );
});

it('a list of parked streams as JSON has nothing but JSON on standard output', async () => {
  const stream = { stream: 'task-a', position: 7n, reason: 'bad' };
  const list = create(ParkedStreamListSchema, { streams: [stream], total: 3 });
  const url = await serve(answering('application/json', JSON.stringify(jsonOfMessage(ParkedStreamListSchema, list))));
  const output = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const errors = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await listParkedStreams({ server: url, json: true });
    expect(output.mock.calls.map(([line]) => (JSON.parse(String(line)) as { stream: string }).stream)).toEqual([
      'task-a',
    ]);
    expect(errors.mock.calls).toEqual([['flightlog: there are 2 more\n']]);
  } finally {
    vi.restoreAllMocks();
  }
});
