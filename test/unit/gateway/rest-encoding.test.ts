import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { request as httpRequest } from 'node:http';

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { status as grpcStatus } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import {
  TaskCreateRequestSchema,
  TaskCreateResponseSchema,
  TaskSchema,
} from '../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { Interceptor } from '../../../services/gateway/dispatch/dispatch.js';
import { type Route, route, RpcError } from '../../../services/kernel/rpc.js';
import { overHttp } from './toy.js';

/** The origin of a page that may call the server. */
const PAGE = 'https://console.example.com';
const TASK = '/api/v1/tasks/p/d/n/v';
/** A text that makes an answer long enough to be compressed. */
const TEXT = 'x'.repeat(300_000);

const routes: readonly Route[] = [
  route(AdminService.method.getTask, ({ id }) => {
    if (id?.version === 'none') throw new RpcError('NOT_FOUND', 'not there');
    return Promise.resolve(create(TaskSchema, { shortDescription: id?.version === 'long' ? TEXT : 'short' }));
  }),
  route(AdminService.method.createTask, ({ id }) =>
    Promise.resolve(create(TaskCreateResponseSchema, id ? { id } : {})),
  ),
];

let toy: Awaited<ReturnType<typeof overHttp>>;
beforeAll(async () => {
  toy = await overHttp(routes, [], { maxMessageBytes: 100_000, cors: { origins: [PAGE], headers: ['x-own'] } });
});
afterAll(() => toy.close());

/** The raw response; `fetch` would decompress it. */
const raw = (path: string, headers: Record<string, string>) =>
  new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    httpRequest(toy.url + path, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
    })
      .on('error', reject)
      .end();
  });

describe('an answer', () => {
  it('has its size in bytes for the interceptors, which log it and count it against the memory budget', async () => {
    const sizes: number[] = [];
    const measure: Interceptor = (_call, next) =>
      next().then((answer) => {
        sizes.push(answer.length);
        return answer;
      });
    const described = route(AdminService.method.getTask, () =>
      Promise.resolve(create(TaskSchema, { shortDescription: 'größer' })),
    );
    const measured = await overHttp([described], [], { observers: [measure] });
    const body = await (await measured.get(TASK)).arrayBuffer();
    await measured.close();
    expect(sizes).toEqual([body.byteLength]);
  });

  it.each(['gzip', 'br, gzip;q=0.5', '*', '*;q=0, gzip'])(
    'is compressed for clients that accept %s',
    async (accepted) => {
      const { headers, body } = await raw('/api/v1/tasks/p/d/n/long', { 'accept-encoding': accepted });
      expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Origin, accept, accept-encoding' });
      expect(body.length).toBeLessThan(10_000);
      expect(JSON.parse(gunzipSync(body).toString())).toMatchObject({ shortDescription: TEXT });
    },
  );

  it.each(['', 'br', 'gzip;q=0', 'identity', 'gzip;q=0, *', '*;q=0'])(
    'is sent uncompressed to clients that accept %j',
    async (accepted) => {
      const { headers, body } = await raw('/api/v1/tasks/p/d/n/long', { 'accept-encoding': accepted });
      expect(headers['content-encoding']).toBeUndefined();
      expect(headers['content-length']).toBe(String(body.length));
      expect(JSON.parse(body.toString())).toMatchObject({ shortDescription: TEXT });
    },
  );

  it('that is short is not compressed', async () => {
    expect((await raw(TASK, { 'accept-encoding': 'gzip' })).headers['content-encoding']).toBeUndefined();
  });
});

describe('a body', () => {
  const body = JSON.stringify({ id: { name: 'n', version: 'v'.repeat(50_000) } });
  const send = (bytes: Uint8Array, encoding: string) =>
    toy.send('POST', '/api/v1/tasks', bytes, { 'content-encoding': encoding });

  it.each([
    ['gzip', gzipSync(body)],
    ['x-gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['identity', Buffer.from(body)],
  ])('may come as %s', async (encoding, bytes) => {
    const answer = await send(bytes, encoding);
    expect(await answer.json()).toMatchObject({ id: { name: 'n' } });
  });

  it('is limited in its decompressed size', async () => {
    const answer = await send(gzipSync(Buffer.alloc(50_000_000)), 'gzip');
    expect(answer.status).toBe(429);
    expect(await answer.json()).toMatchObject({
      code: grpcStatus.RESOURCE_EXHAUSTED,
      message: expect.stringContaining('larger than max') as string,
    });
  });

  it.each([
    ['gzip', Buffer.from('not compressed')],
    ['gzip', gzipSync(body).subarray(0, 40)],
    ['deflate', deflateSync(body, { dictionary: Buffer.from(body) })],
    ['br', Buffer.from(body)],
  ])('that cannot be decompressed as %s is refused with status 400', async (encoding, bytes) => {
    expect((await send(bytes, encoding)).status).toBe(400);
  });
});

describe('a message in bytes', () => {
  it.each(['application/octet-stream', 'application/x-protobuf'])(
    'is answered as %s, errors too',
    async (mediaType) => {
      const request = toBinary(TaskCreateRequestSchema, create(TaskCreateRequestSchema, { id: { name: 'n' } }));
      const answer = await toy.send('POST', '/api/v1/tasks', request, { 'content-type': mediaType });
      expect(answer.headers.get('content-type')).toBe(mediaType);
      expect(fromBinary(TaskCreateResponseSchema, new Uint8Array(await answer.arrayBuffer())).id?.name).toBe('n');
      const refused = await toy.get('/api/v1/tasks/p/d/n/none', { accept: mediaType });
      expect(refused.status).toBe(404);
      expect(fromBinary(StatusSchema, new Uint8Array(await refused.arrayBuffer()))).toMatchObject({
        code: grpcStatus.NOT_FOUND,
      });
    },
  );
});

describe('a page of another origin', () => {
  /** The request in which a browser asks whether a page of this origin may call. */
  const preflight = (url: string, origin: string) =>
    fetch(url + TASK, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-own' },
    });

  it('may call when its origin is configured, with credentials and the configured headers', async () => {
    const { status, headers } = await preflight(toy.url, PAGE);
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(headers.get('access-control-allow-credentials')).toBe('true');
    expect(headers.get('access-control-allow-methods')).toContain('PUT');
    expect(headers.get('access-control-allow-headers')).toContain('x-own');
    const answer = await toy.get(TASK, { origin: PAGE });
    expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(answer.headers.get('access-control-expose-headers')).toContain('flightlog-position');
    expect(answer.headers.get('access-control-expose-headers')).toContain('flightlog-unread');
    const refused = await toy.get('/api/v1/tasks/p/d/n/none', { origin: PAGE });
    expect(refused.headers.get('access-control-allow-origin')).toBe(PAGE);
  });

  it.each([PAGE, 'https://elsewhere.example', ''])(
    'gets an answer that caches keep for its origin alone: %j',
    async (origin) => {
      const answer = await toy.get(TASK, origin === '' ? {} : { origin });
      expect(answer.headers.get('vary')).toBe('Origin, accept, accept-encoding');
    },
  );

  it('may send the MD5 of a file, and read the delay before a retry', async () => {
    const { headers } = await preflight(toy.url, PAGE);
    expect(headers.get('access-control-allow-headers')).toContain('content-md5');
    expect(headers.get('access-control-expose-headers')).toContain('retry-after');
  });

  it('gets no header that allows it when its origin is not configured', async () => {
    expect(
      (await preflight(toy.url, 'https://elsewhere.example')).headers.get('access-control-allow-origin'),
    ).toBeNull();
  });

  it('may call from any origin when all are configured, without credentials', async () => {
    const open = await overHttp(routes, [], { cors: { origins: ['*'], headers: [] } });
    const { headers } = await preflight(open.url, 'https://elsewhere.example');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    await open.close();
  });

  it('may not call when no origin is configured', async () => {
    const closed = await overHttp(routes);
    const answer = await preflight(closed.url, PAGE);
    expect(answer.status).toBe(501);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    await closed.close();
  });
});
