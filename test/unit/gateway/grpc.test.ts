import { deflateSync, gzipSync } from 'node:zlib';
import { connect } from 'node:http2';
import type { IncomingHttpHeaders } from 'node:http2';

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
  HealthCheckResponseSchema,
} from '../../../proto/gen/grpc/health/v1/health_pb.js';
import { ObjectGetRequestSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  EventFailureReasonSchema,
  NodeExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import { TaskSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { positionTokens } from '../../../services/gateway/position-token.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import {
  bytesRoute,
  type Call,
  missing,
  type Route,
  route,
  RpcError,
  unavailable,
} from '../../../services/kernel/rpc.js';
import { type Called, LOG_ID, type Logged, overGrpc } from './toy.js';

const GET_TASK = '/flyteidl.service.AdminService/GetTask';
const NODE_EVENT = '/flyteidl.service.AdminService/CreateNodeEvent';

const terminal = create(EventFailureReasonSchema, {
  reason: { case: 'alreadyInTerminalState', value: { currentPhase: 'FAILED' } },
});

/** The behaviour of the handler, by the name in the request. */
const answers: Readonly<Record<string, (call: Call) => void>> = {
  missing: () => {
    throw missing('version');
  },
  terminal: () => {
    throw new RpcError('FAILED_PRECONDITION', 'ended', [{ schema: EventFailureReasonSchema, message: terminal }]);
  },
  fault: () => {
    throw new StoreUnavailable('the file /secret/log.db is gone');
  },
  away: () => {
    throw unavailable('the issuer does not answer', new Error('10.0.0.1 refused the connection'));
  },
  bug: () => {
    throw new TypeError('secret');
  },
  long: () => {
    throw new RpcError('INVALID_ARGUMENT', 'ü'.repeat(40_000), [
      { schema: EventFailureReasonSchema, message: terminal },
    ]);
  },
  percent: () => {
    throw new RpcError('INVALID_ARGUMENT', '%'.repeat(4_000), [
      { schema: EventFailureReasonSchema, message: terminal },
    ]);
  },
  endless: () => {
    throw new RpcError('INVALID_ARGUMENT', 'x'.repeat(40_000));
  },
  'huge detail': () => {
    const message = create(EventFailureReasonSchema, {
      reason: { case: 'alreadyInTerminalState', value: { currentPhase: 'F'.repeat(10_000) } },
    });
    throw new RpcError('FAILED_PRECONDITION', 'ended', [{ schema: EventFailureReasonSchema, message }]);
  },
  ok: (call) => call.answeredAt(42n),
};

const calls: Call[] = [];
const routes: readonly Route[] = [
  route(AdminService.method.getTask, async (request, call) => {
    calls.push(call);
    answers[request.id?.name ?? '']?.(call);
    if (request.id?.name === 'slow') await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    return create(TaskSchema, { shortDescription: request.id?.name ?? '' });
  }),
  bytesRoute(AdminService.method.createNodeEvent, () => Promise.resolve(new Uint8Array())),
];

const logged: Logged[] = [];
let toy: Awaited<ReturnType<typeof overGrpc>>;
beforeAll(async () => {
  toy = await overGrpc(routes, logged, { maxMessageBytes: 1_000_000 });
});
afterAll(() => toy.close());

/** A request for the task of this name; `getTask` answers by the name. */
const named = (name: string): Uint8Array =>
  toBinary(ObjectGetRequestSchema, create(ObjectGetRequestSchema, { id: { name } }));
/** The status with its details. */
const statusOf = ({ trailer }: Called) => fromBinary(StatusSchema, trailer.get('grpc-status-details-bin')[0] as Buffer);

describe('a call over gRPC', () => {
  it('reaches the same handler under the package names flyteidl and platformidl', async () => {
    for (const name of ['flyteidl', 'platformidl']) {
      const { answer } = await toy.call(`/${name}.service.AdminService/GetTask`, named('ok'));
      expect(fromBinary(TaskSchema, answer!).shortDescription).toBe('ok');
    }
  });

  it('is answered with its position in the trailer', async () => {
    const { trailer } = await toy.call(GET_TASK, named('ok'));
    expect(trailer.get('flightlog-position')).toEqual([positionTokens(LOG_ID).format(42n)]);
  });

  it('takes request id, idempotency key and minimum position from the metadata', async () => {
    calls.length = 0;
    const token = positionTokens(LOG_ID).format(7n);
    const traceparent = `00-${'4b'.repeat(16)}-${'00f0'.repeat(4)}-01`;
    await toy.call(GET_TASK, named('ok'), {
      'x-request-id': 'r-1',
      traceparent,
      'idempotency-key': 'k-1',
      'flightlog-min-position': token,
    });
    expect(calls[0]).toMatchObject({
      requestId: 'r-1',
      traceParent: traceparent,
      idempotencyKey: 'k-1',
      minPosition: 7n,
      principal: '',
    });
  });

  it('gets a request id of its own when it brings none', async () => {
    calls.length = 0;
    await Promise.all([toy.call(GET_TASK, named('ok')), toy.call(GET_TASK, named('ok'))]);
    const ids = calls.map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^a-[a-z0-9]{20}$/);
  });

  it('is answered with its request id, also when it fails, unless the id has more than 256 characters', async () => {
    calls.length = 0;
    const idOf = async (name: string, metadata = {}) =>
      (await toy.call(GET_TASK, named(name), metadata)).trailer.get('flightlog-request-id');
    expect(await idOf('ok', { 'x-request-id': 'r-1' })).toEqual(['r-1']);
    expect(await idOf('huge detail', { 'x-request-id': 'r-2' })).toEqual(['r-2']);
    expect(await idOf('ok')).toEqual([calls.at(-1)?.requestId]);
    expect(await idOf('ok', { 'x-request-id': 'r'.repeat(256) })).toEqual(['r'.repeat(256)]);
    expect(await idOf('ok', { 'x-request-id': 'r'.repeat(257) })).toEqual([]);
  });

  it.each(['nonsense', 'log-2.7', 'log-1.99999999999999999999', 'log-1.-1'])(
    'is refused with the minimum position %s',
    async (token) => {
      const { error } = await toy.call(GET_TASK, named('ok'), { 'flightlog-min-position': token });
      expect(error).toMatchObject({ code: status.INVALID_ARGUMENT });
      expect(error!.details).toContain('flightlog-min-position');
    },
  );

  it('gets an error that names the mistake', async () => {
    const { error } = await toy.call(GET_TASK, named('missing'));
    expect(error).toMatchObject({ code: status.INVALID_ARGUMENT, details: 'missing version' });
  });

  it('gets details under the package that the caller used', async () => {
    for (const name of ['flyteidl', 'platformidl']) {
      const called = await toy.call(`/${name}.service.AdminService/GetTask`, named('terminal'));
      expect(called.error!.code).toBe(status.FAILED_PRECONDITION);
      const { code, message, details } = statusOf(called);
      expect({ code, message }).toEqual({ code: status.FAILED_PRECONDITION, message: 'ended' });
      expect(details.map(({ typeUrl }) => typeUrl)).toEqual([`type.googleapis.com/${name}.admin.EventFailureReason`]);
      expect(fromBinary(EventFailureReasonSchema, details[0]!.value)).toEqual(terminal);
    }
  });

  it('gets a fault without its internal details', async () => {
    const { error } = await toy.call(GET_TASK, named('fault'));
    expect(error!.code).toBe(status.UNAVAILABLE);
    expect(error!.details).toBe('a store is unavailable');
    expect(logged.at(-1)).toMatchObject({ level: 'warn', fields: { fault: 'store-unavailable' } });
  });

  it('gets an error without its cause, which is in the log', async () => {
    const { error } = await toy.call(GET_TASK, named('away'));
    expect(error).toMatchObject({ code: status.UNAVAILABLE, details: 'the issuer does not answer' });
    expect(logged.at(-1)).toMatchObject({
      level: 'warn',
      fields: { err: { cause: { message: '10.0.0.1 refused the connection' } } },
    });
  });

  it('gets no details of a bug, which is in the log with its request', async () => {
    const { error } = await toy.call(GET_TASK, named('bug'), { 'x-request-id': 'r-bug' });
    expect(error).toMatchObject({ code: status.INTERNAL, details: 'internal error' });
    expect(logged.at(-1)).toMatchObject({
      level: 'error',
      fields: { requestId: 'r-bug', rpc: 'AdminService.GetTask' },
    });
  });

  it('gets a long text cut, and keeps the details', async () => {
    const called = await toy.call(GET_TASK, named('long'));
    expect(called.error!.code).toBe(status.INVALID_ARGUMENT);
    expect(called.error!.details).toMatch(/^ü+…$/);
    expect(statusOf(called).details).toHaveLength(1);
  });

  // gRPC in C, and so Python, may refuse metadata above 8 kB and always does above 16 kB, each entry with 32 bytes
  // more.
  it.each(['long', 'percent', 'endless', 'huge detail', 'terminal'])(
    'gets a refusal in metadata of less than 7,000 bytes, under the package names flyteidl and platformidl: %s',
    async (name) => {
      for (const path of [GET_TASK, GET_TASK.replace('flyteidl', 'platformidl')]) {
        const { code, bytes } = await sendBody(toy.port, framed(named(name)), { ':path': path });
        expect(code).toMatch(/^(?:INVALID_ARGUMENT|FAILED_PRECONDITION)$/u);
        expect(bytes).toBeGreaterThan(50);
        expect(bytes).toBeLessThan(7_000);
      }
    },
  );

  it('keeps the details of a refusal while they fit, and its text when they do not', async () => {
    expect(statusOf(await toy.call(GET_TASK, named('percent'))).details).toHaveLength(1);
    const called = await toy.call(GET_TASK, named('huge detail'));
    expect(called.error!.details).toBe('ended');
    expect(called.trailer.get('grpc-status-details-bin')).toEqual([]);
  });
});

/** An event of a node whose outputs have a literal in this many collections; each is two levels of messages. */
const nested = (levels: number): Uint8Array => {
  let bytes: Buffer = Buffer.alloc(0);
  const wrap = (field: number, inner: Buffer): Buffer => {
    const length: number[] = [];
    for (let rest = inner.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest <= 127) break;
    }
    return Buffer.concat([Buffer.from([(field << 3) | 2, ...length]), inner]);
  };
  // Literal.collection (field 2) holds LiteralCollection.literals (field 1), which holds Literal, and so on.
  for (let i = 0; i < levels; i++) bytes = wrap(2, wrap(1, bytes));
  return wrap(2, wrap(15, wrap(1, Buffer.concat([wrap(1, Buffer.from('x')), wrap(2, bytes)]))));
};

describe('the bytes of a request', () => {
  const truncated = toBinary(
    NodeExecutionEventRequestSchema,
    create(NodeExecutionEventRequestSchema, { event: { id: { nodeId: 'n0' }, nodeName: 'n0' } }),
  ).slice(0, -1);

  it.each([
    ['a message that ends early', NODE_EVENT, truncated, 'event'],
    ['a message that ends early, of an RPC that decodes it', GET_TASK, named('x').slice(0, -1), 'id'],
    [
      'text that is not UTF-8',
      GET_TASK,
      Buffer.from([0x0a, 0x03 /* id */, 0x22, 0x01 /* name */, 0xff]),
      'id.name is not valid UTF-8',
    ],
    [
      'a field of another wire type',
      NODE_EVENT,
      Buffer.from([0x08 /* field 1 as a varint */, 0x01]),
      'request_id has wire type 0',
    ],
    ['no protobuf at all', NODE_EVENT, Buffer.from('{"event":{}}'), 'at byte'],
    ['messages nested more than 100 deep', NODE_EVENT, nested(60), 'nested deeper than 100'],
    ['messages nested more than 40,000 deep', NODE_EVENT, nested(20_000), 'nested deeper than 100'],
  ])('are refused with an error that names the field or the mistake: %s', async (_what, path, bytes, where) => {
    const { error } = await toy.call(path, bytes);
    expect(error!.code).toBe(status.INVALID_ARGUMENT);
    expect(error!.details).toContain(where);
  });

  it('are accepted with messages that are nested less than 100 deep', async () => {
    expect((await toy.call(NODE_EVENT, nested(40))).error).toBeUndefined();
  });

  it('are accepted with an unknown field', async () => {
    expect(
      (await toy.call(NODE_EVENT, Buffer.from([0xf8, 0xff, 0x03 /* field 8191 as a varint */, 0x01]))).error,
    ).toBeUndefined();
  });
});

/** Sends one body over HTTP/2; gives the name of the status, its text, and the bytes of the headers that had them. */
const sendBody = (port: number, bytes: Uint8Array, headers: Record<string, string> = {}) =>
  new Promise<{ code: string | undefined; text: string; bytes: number }>((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`);
    session.on('error', reject);
    const request = session.request({
      ':method': 'POST',
      ':path': GET_TASK,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    const read = (sent: IncomingHttpHeaders) => {
      if (sent['grpc-status'] === undefined) return;
      const bytes = Object.entries(sent).reduce(
        (sum, [name, value]) => sum + name.length + String(value).length + 32,
        0,
      );
      resolve({ code: status[Number(sent['grpc-status'])], text: decodeURI(String(sent['grpc-message'])), bytes });
      session.destroy();
    };
    request.on('response', read).on('trailers', read).on('error', reject).resume();
    request.end(bytes);
  });

/** A message with its head of five bytes: a flag (1 when it is compressed) and the length. */
const framed = (bytes: Uint8Array, flag = 0): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
};

describe('a request over gRPC', () => {
  it('is refused when it is too large, in the words that engines look for', async () => {
    const { error } = await toy.call(GET_TASK, Buffer.alloc(1_000_001));
    expect(error!.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(error!.details).toContain('message larger than max');
  });

  it('is refused when it is too large, also when it comes in one piece', async () => {
    const strict = await overGrpc(routes, [], { maxMessageBytes: 100 });
    const { error } = await strict.call(GET_TASK, Buffer.alloc(101));
    await strict.close();
    expect(error!.details).toContain('message larger than max (101 vs 100)');
  });

  it('is refused when it is too large once it is decompressed', async () => {
    const bomb = framed(gzipSync(Buffer.alloc(2_000_000)), 1);
    const { code, text } = await sendBody(toy.port, bomb, { 'grpc-encoding': 'gzip' });
    expect(code).toBe('RESOURCE_EXHAUSTED');
    expect(text).toContain('message larger than max');
  });

  it('is refused when it cannot be decompressed', async () => {
    const { code } = await sendBody(toy.port, framed(Buffer.from('no gzip'), 1), { 'grpc-encoding': 'gzip' });
    expect(code).toBe('INVALID_ARGUMENT');
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('is read when it is compressed with %s', async (encoding, compress) => {
    const bytes = framed(compress(named('missing')), 1);
    expect(await sendBody(toy.port, bytes, { 'grpc-encoding': encoding })).toMatchObject({ text: 'missing version' });
  });

  it('is refused when it is compressed with an unknown encoding, which the error names', async () => {
    const { code, text } = await sendBody(toy.port, framed(named('ok'), 1), { 'grpc-encoding': 'br' });
    expect({ code, text }).toMatchObject({ code: 'UNIMPLEMENTED', text: expect.stringContaining('"br"') as string });
  });

  it('is refused when it ends inside its frame', async () => {
    expect(await sendBody(toy.port, framed(named('ok')).subarray(0, -1))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('is refused when its deadline is not a time', async () => {
    const { code, text } = await sendBody(toy.port, framed(named('ok')), { 'grpc-timeout': 'soon' });
    expect({ code, text }).toEqual({
      code: 'INVALID_ARGUMENT',
      text: expect.stringMatching(/^invalid value for grpc-timeout: '.+' is not a time such as 5S or 200m$/u) as string,
    });
  });
});

describe('an RPC that is not built or unknown', () => {
  it.each([
    ['/flyteidl.service.AdminService/GetExecutionMetrics', 'AdminService.GetExecutionMetrics is not built yet'],
    ['/platformidl.service.SignalService/SetSignal', 'SignalService.SetSignal is not built yet'],
    ['/flyteidl.service.SyncAgentService/ExecuteTaskSync', 'ExecuteTaskSync is not built'],
    ['/flyteidl.service.AsyncAgentService/GetTaskLogs', 'GetTaskLogs is not built'],
    ['/flyteidl.service.AdminService/Nonsense', 'Nonsense'],
  ])('%s is UNIMPLEMENTED, with a text that has: %s', async (path, text) => {
    const { error } = await toy.call(path, new Uint8Array());
    expect(error!.code).toBe(status.UNIMPLEMENTED);
    expect(error!.details).toContain(text);
  });
});

describe('a call after its deadline', () => {
  it('is cancelled for its handler', async () => {
    calls.length = 0;
    const { error } = await toy.call(GET_TASK, named('slow'), {}, Date.now() + 200);
    expect(error!.code).toBe(status.DEADLINE_EXCEEDED);
    await expect.poll(() => calls[0]?.isCancelled()).toBe(true);
  });
});

describe('the health check', () => {
  const health = (service: string) =>
    toy.call(
      '/grpc.health.v1.Health/Check',
      toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })),
    );

  it.each(['', 'flyteadmin'])('says that %j is serving', async (service) => {
    const { answer } = await health(service);
    expect(fromBinary(HealthCheckResponseSchema, answer!).status).toBe(Serving.SERVING);
  });

  it('does not know other names', async () => {
    expect((await health('other')).error!.code).toBe(status.NOT_FOUND);
  });

  it('tells its watchers when the server cannot serve calls, and when it can again', async () => {
    let state: 'well' | 'down' = 'well';
    const own = await overGrpc(routes, [], { checks: () => [{ name: 'log', state }] });
    const raw = (bytes: Buffer) => bytes;
    const seen: Serving[] = [];
    const stream = own.client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', raw, raw, Buffer.alloc(0));
    stream.on('error', () => undefined);
    stream.on('data', (bytes: Buffer) => void seen.push(fromBinary(HealthCheckResponseSchema, bytes).status));
    await expect.poll(() => seen).toEqual([Serving.SERVING]);
    state = 'down';
    await expect.poll(() => seen, { timeout: 4_000 }).toEqual([Serving.SERVING, Serving.NOT_SERVING]);
    state = 'well';
    await expect.poll(() => seen.length, { timeout: 4_000 }).toBe(3);
    expect(seen.at(-1)).toBe(Serving.SERVING);
    stream.cancel();
    own.client.close();
    await own.server.close({ drainMs: 100 });
  }, 20_000);

  it('tells its watchers when the server closes, and ends their streams', async () => {
    const own = await overGrpc(routes);
    const raw = (bytes: Buffer) => bytes;
    const seen: Serving[] = [];
    const stream = own.client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', raw, raw, Buffer.alloc(0));
    stream.on('data', (bytes: Buffer) => void seen.push(fromBinary(HealthCheckResponseSchema, bytes).status));
    const ended = new Promise((resolve) => stream.on('end', resolve));
    await expect.poll(() => seen).toEqual([Serving.SERVING]);
    await Promise.all([ended, own.server.close({ drainMs: 1_000 })]);
    expect(seen).toEqual([Serving.SERVING, Serving.NOT_SERVING]);
    own.client.close();
  });
});

describe('a server that closes', () => {
  it('waits for calls in flight, and takes no new ones', async () => {
    let release: (() => void) | undefined;
    const own = await overGrpc([
      route(AdminService.method.getTask, async () => {
        await new Promise<void>((resolve) => (release = resolve));
        return create(TaskSchema, { shortDescription: 'finished' });
      }),
    ]);
    const onItsWay = own.call(GET_TASK, named('x'));
    await expect.poll(() => release).toBeDefined();
    const closed = own.server.close({ drainMs: 5_000 });
    expect((await own.call(GET_TASK, named('x'))).error!.code).toBe(status.UNAVAILABLE);
    release?.();
    expect(fromBinary(TaskSchema, (await onItsWay).answer!).shortDescription).toBe('finished');
    await closed;
    expect((await own.call(GET_TASK, named('x'))).error!.code).toBe(status.UNAVAILABLE);
    own.client.close();
  });

  it('ends calls that do not end in time as UNAVAILABLE', async () => {
    let inFlight = 0;
    const own = await overGrpc([
      route(AdminService.method.getTask, () => {
        inFlight += 1;
        return new Promise(() => undefined);
      }),
    ]);
    const onItsWay = own.call(GET_TASK, named('x'));
    await expect.poll(() => inFlight).toBe(1);
    await own.server.close({ drainMs: 20 });
    expect((await onItsWay).error!.code).toBe(status.UNAVAILABLE);
    own.client.close();
  });
});

describe('a server that starts', () => {
  it('names the address that it cannot listen on', async () => {
    const own = await overGrpc(routes);
    await expect(overGrpc(routes, [], { port: own.port })).rejects.toThrow(`127.0.0.1:${own.port}`);
    await own.close();
  });
});

describe('a connection without calls', () => {
  it('stays open when it is pinged 50 times', async () => {
    const session = connect(`http://127.0.0.1:${toy.port}`);
    await new Promise((resolve) => session.once('connect', resolve));
    let isGone = false;
    session.on('goaway', () => (isGone = true)).on('error', () => (isGone = true));
    for (let i = 0; i < 50; i++) {
      await new Promise<void>((resolve, reject) => {
        session.ping((error) => (error ? reject(error) : resolve()));
      });
    }
    expect(isGone).toBe(false);
    session.close();
  });
});
