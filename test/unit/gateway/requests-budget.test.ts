import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

import { create, toBinary } from '@bufbuild/protobuf';
import { status as grpcStatus } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';

import { TaskCreateRequestSchema, TaskCreateResponseSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { requestBudget } from '../../../services/gateway/memory-budget.js';
import { route } from '../../../services/kernel/rpc.js';
import { overGrpc, overHttp } from './toy.js';

/** The size of each large request. */
const LARGE_BYTES = 400_000;
const PATH = '/flyteidl.service.AdminService/CreateTask';

const large = toBinary(
  TaskCreateRequestSchema,
  create(TaskCreateRequestSchema, { id: { name: 'x'.repeat(LARGE_BYTES) } }),
);

/** Limits of a budget: one and a half large requests for a connection, three in all. */
const limits = (more: Partial<Parameters<typeof requestBudget>[0]> = {}) => ({
  perConnectionBytes: LARGE_BYTES * 1.5,
  totalBytes: LARGE_BYTES * 3,
  waitMs: 30_000,
  stallTimeoutMs: 60_000,
  ...more,
});

/** A route that accepts every request. */
const accepts = route(AdminService.method.createTask, () => Promise.resolve(create(TaskCreateResponseSchema)));

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A gRPC server with these limits. */
const grpc = async (more: Partial<Parameters<typeof requestBudget>[0]> = {}) => {
  const requests = requestBudget(limits(more));
  const toy = await overGrpc([accepts], [], { requests });
  closing.push(() => toy.close());
  return { ...toy, requests };
};

/** The name of a gRPC status. */
const statusName = (code: unknown): string | undefined => grpcStatus[Number(code)];

const framed = (message: Uint8Array): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

/** A call that has sent all but the last byte of its message; `answer` is the name of its status, and its text. */
const beginCall = (session: ClientHttp2Session) => {
  const request = session.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc' });
  const whole = framed(large);
  const answer = new Promise<string>((resolve) => {
    const see = (sent: Record<string, unknown>) => {
      if (typeof sent['grpc-status'] === 'string')
        resolve(`${statusName(sent['grpc-status'])} ${String(sent['grpc-message'])}`);
    };
    request.on('response', see).on('trailers', see);
  });
  request.on('error', () => undefined).resume();
  request.write(whole.subarray(0, -1));
  return { answer, finish: () => request.end(whole.subarray(-1)) };
};

const connection = (port: number): ClientHttp2Session => {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  closing.push(() => session.destroy());
  return session;
};

describe('large requests over gRPC', () => {
  it('wait for the memory of requests before them, and are answered then', async () => {
    const { port } = await grpc();
    const session = connection(port);
    const [first, second] = [beginCall(session), beginCall(session)];
    second.finish();
    let answered = '';
    void second.answer.then((status) => (answered = status));
    await new Promise((resolve) => session.ping(resolve));
    expect(answered).toBe('');
    first.finish();
    expect(await first.answer).toMatch(/^OK /);
    expect(await second.answer).toMatch(/^OK /);
  });

  it('are RESOURCE_EXHAUSTED when the memory budget stays full', async () => {
    const { port } = await grpc({ waitMs: 200 });
    const session = connection(port);
    const first = beginCall(session);
    expect(decodeURIComponent(await beginCall(session).answer)).toBe(
      'RESOURCE_EXHAUSTED too many large requests are in flight on this connection: send fewer of them at a time',
    );
    first.finish();
    expect(await first.answer).toMatch(/^OK /);
  });

  it('release their memory when their connection ends', async () => {
    const { port, call } = await grpc();
    const gone = [connection(port), connection(port), connection(port)];
    for (const session of gone) beginCall(session);
    for (const session of gone) await new Promise((resolve) => session.ping(resolve));
    const waiting = call(PATH, large);
    for (const session of gone) session.destroy();
    expect((await waiting).error).toBeUndefined();
  });

  it('are DEADLINE_EXCEEDED when the rest does not arrive, and release their memory', async () => {
    const { port, call } = await grpc({ stallTimeoutMs: 200, totalBytes: LARGE_BYTES });
    const silent = beginCall(connection(port));
    expect((await call(PATH, large)).error).toBeUndefined();
    expect(decodeURIComponent(await silent.answer)).toBe(
      'DEADLINE_EXCEEDED the rest of the request did not arrive in time',
    );
  });

  it('are counted with the largest size that they can decompress to', async () => {
    const { port, requests } = await grpc({ waitMs: 200, totalBytes: LARGE_BYTES * 2 });
    await requests.open(new Socket()).reserve(LARGE_BYTES);
    const session = connection(port);
    const request = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      'grpc-encoding': 'gzip',
    });
    const packed = framed(gzipSync(Buffer.alloc(10_000_000)));
    packed[0] = 1; // compressed
    const status = new Promise((resolve) => request.on('response', (sent) => resolve(statusName(sent['grpc-status']))));
    request.resume().end(packed);
    expect(await status).toBe('RESOURCE_EXHAUSTED');
  });

  it('are decompressed only once the memory budget has memory for them', async () => {
    const { port, requests } = await grpc();
    const reservation = requests.open(new Socket());
    await reservation.reserve(LARGE_BYTES * 3);
    const session = connection(port);
    const request = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      'grpc-encoding': 'gzip',
    });
    const packed = framed(gzipSync(large));
    packed[0] = 1; // compressed
    const status = new Promise((resolve) => {
      request.on('trailers', (sent: Record<string, unknown>) => resolve(statusName(sent['grpc-status'])));
    });
    request.resume().end(packed);
    let answered: unknown;
    void status.then((code) => (answered = code));
    await new Promise((resolve) => session.ping(resolve));
    await new Promise((resolve) => session.ping(resolve));
    expect(answered).toBeUndefined();
    reservation.release();
    expect(await status).toBe('OK');
  });

  it('are answered, also after a small one that came byte by byte', async () => {
    const { port, call } = await grpc();
    const request = connection(port).request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc' });
    const status = new Promise((resolve) => {
      request.on('trailers', (sent: Record<string, unknown>) => resolve(statusName(sent['grpc-status'])));
    });
    request.resume();
    const small = framed(toBinary(TaskCreateRequestSchema, create(TaskCreateRequestSchema, { id: { name: 'x' } })));
    for (const byte of small) await new Promise((resolve) => request.write(Buffer.from([byte]), resolve));
    request.end();
    expect(await status).toBe('OK');
    expect((await call(PATH, large)).error).toBeUndefined();
  });
});

describe('large requests over REST', () => {
  const rest = async (more: Partial<Parameters<typeof requestBudget>[0]> = {}) => {
    const toy = await overHttp([accepts], [], { requests: requestBudget(limits(more)) });
    closing.push(() => toy.close());
    return toy;
  };
  const body = (): string => JSON.stringify({ id: { name: 'x'.repeat(LARGE_BYTES) } });

  /** Sends the head of a request and 300,000 bytes of its body. */
  const beginBody = (url: string, head: string) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    closing.push(() => socket.destroy());
    let isClosed = false;
    socket.resume().on('close', () => (isClosed = true));
    socket.write(`POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
    const sent = new Promise<void>((resolve) => socket.write(body().slice(0, 300_000), () => resolve()));
    return { socket, sent, isClosed: () => isClosed };
  };
  /** The header of a body of which {@link beginBody} sends a part. */
  const LENGTH = `Content-Length: ${LARGE_BYTES + 20}`;

  it('are RESOURCE_EXHAUSTED when the memory budget stays full, with a retry delay', async () => {
    const { url, send } = await rest({ waitMs: 200, totalBytes: LARGE_BYTES });
    await beginBody(url, LENGTH).sent;
    const refused = await send('POST', '/api/v1/tasks', body());
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({
      message: expect.stringMatching(/^too many large requests/) as string,
    });
  });

  it('are counted also for the path of an upload link when the server has no links', async () => {
    const { url, send } = await rest({ waitMs: 200, totalBytes: LARGE_BYTES });
    await beginBody(url, LENGTH).sent;
    expect((await send('PUT', '/data/file', body())).status).toBe(429);
  });

  it('release their memory when their connection ends', async () => {
    const { url, send } = await rest({ totalBytes: LARGE_BYTES });
    const { socket, sent } = beginBody(url, LENGTH);
    await sent;
    const waiting = send('POST', '/api/v1/tasks', body());
    socket.destroy();
    expect((await waiting).status).toBe(200);
  });

  it.each([
    ['with a Content-Length', LENGTH],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\nfffff' /* the size of a chunk, hexadecimal */],
  ])('end their connection when the rest does not come: %s', async (_how, head) => {
    const { url } = await rest({ stallTimeoutMs: 200 });
    await expect.poll(beginBody(url, head).isClosed, { timeout: 5_000 }).toBe(true);
  });

  /** Sends a compressed body as one chunk; `answer` is the HTTP status, and `end` ends the request. */
  const sendPacked = (url: string, packed: Buffer, encoding = 'gzip') => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    closing.push(() => socket.destroy());
    const answer = new Promise((resolve) => socket.once('data', (sent) => resolve(String(sent).slice(9, 12))));
    const head = `POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Encoding: ${encoding}\r\nTransfer-Encoding: chunked`;
    socket.write(`${head}\r\n\r\n${packed.length.toString(16)}\r\n`);
    socket.write(packed);
    socket.write('\r\n');
    return { socket, answer, end: () => socket.write('0\r\n\r\n') };
  };

  it('are counted by their decompressed size in chunks, if they are large', async () => {
    const { url } = await rest({ waitMs: 200, totalBytes: LARGE_BYTES });
    await beginBody(url, LENGTH).sent;
    const big = sendPacked(url, gzipSync(body()));
    const little = sendPacked(url, gzipSync(JSON.stringify({ id: { name: 'x' } })));
    for (const each of [big, little]) each.end();
    expect([await big.answer, await little.answer]).toEqual(['429', '200']);
  });

  it.each([
    ['is broken', 'gzip'],
    ['is unknown', 'br'],
  ])('take no memory after they were refused, because their compression %s', async (_, encoding) => {
    const { url, send } = await rest({ waitMs: 200, totalBytes: LARGE_BYTES });
    const refused = sendPacked(url, Buffer.from('no gzip'), encoding);
    expect(await refused.answer).toBe('400');
    const late = Buffer.alloc(100_000);
    refused.socket.write(`${late.length.toString(16)}\r\n`);
    refused.socket.write(late);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await send('POST', '/api/v1/tasks', body())).status).toBe(200);
  });

  it('are accepted when they are compressed with gzip', async () => {
    const { send } = await rest();
    const packed = gzipSync(body());
    expect((await send('POST', '/api/v1/tasks', packed, { 'content-encoding': 'gzip' })).status).toBe(200);
  });
});
