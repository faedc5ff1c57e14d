import { connect, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { TaskCreateResponseSchema, TaskSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type MemoryBudget, requestBudget } from '../../../services/gateway/memory-budget.js';
import { type Route, route } from '../../../services/kernel/rpc.js';
import { overHttp } from './toy.js';

/** The largest message that the server accepts. */
const MAX_BYTES = 200_000;
/** The memory budget for requests, of a connection and in all. */
const BUDGET_BYTES = 2 ** 20;
/** The time without a byte after which a connection ends. */
const STALL_MS = 2_000;
const LIMITS = { perConnectionBytes: BUDGET_BYTES, totalBytes: BUDGET_BYTES, waitMs: 100, stallTimeoutMs: STALL_MS };

const routes: readonly Route[] = [
  route(AdminService.method.getTask, () => Promise.resolve(create(TaskSchema))),
  route(AdminService.method.createTask, () => Promise.resolve(create(TaskCreateResponseSchema))),
];

let requests: MemoryBudget;
let toy: Awaited<ReturnType<typeof overHttp>>;
beforeEach(async () => {
  requests = requestBudget(LIMITS);
  toy = await overHttp(routes, [], { maxMessageBytes: MAX_BYTES, requests });
});
afterEach(() => toy.close());

const PATH = '/api/v1/tasks/p/d/n/v';
/** A request that follows on the same connection. */
const NEXT = `GET ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;

const head = (verb: string, path: string, headers: readonly string[]): string =>
  `${[`${verb} ${path} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;

/** The status codes of all answers to what is sent over one connection, until the server closes it. */
const statusesOf = (...sent: readonly (string | Uint8Array)[]): Promise<readonly string[]> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(new URL(toy.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1');
      resolve(Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status = '']) => status));
    });
    for (const each of sent) socket.write(each);
  });

const chunked = (body: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);

const junk = Buffer.alloc(150_000, 'no zlib stream');

describe('the body of a GET', () => {
  it.each(['gzip', 'deflate', 'br'])('is ignored, also when it says that it is compressed as %s', async (encoding) => {
    const headers = [`Content-Encoding: ${encoding}`, `Content-Length: ${junk.length}`];
    expect(await statusesOf(head('GET', PATH, headers), junk, NEXT)).toEqual(['200', '200']);
  });

  it.each([
    ['of known length', [`Content-Length: ${junk.length}`], junk],
    ['in chunks', ['Transfer-Encoding: chunked'], chunked(junk)],
    ['that is compressed', ['Transfer-Encoding: chunked', 'Content-Encoding: gzip'], chunked(gzipSync(junk))],
  ])('%s does not delay the next request of its connection', async (_, headers, body) => {
    const startedAt = performance.now();
    expect(await statusesOf(head('GET', PATH, headers), body, NEXT)).toEqual(['200', '200']);
    expect(performance.now() - startedAt).toBeLessThan(STALL_MS);
  });

  it('takes nothing of the memory budget', async () => {
    await requests.open(new Socket()).reserve(BUDGET_BYTES);
    const headers = [`Content-Length: ${2 ** 30}`, 'Connection: close'];
    expect(await statusesOf(head('GET', PATH, headers))).toEqual(['200']);
  });
});

describe('a compressed body that is refused', () => {
  it('by its length does no harm, whatever it contains', async () => {
    const headers = ['Content-Encoding: gzip', `Content-Length: ${MAX_BYTES + 1}`];
    const body = Buffer.alloc(MAX_BYTES + 1, 'no zlib stream');
    expect(await statusesOf(head('POST', '/api/v1/tasks', headers), body, NEXT)).toEqual(['429', '200']);
  });

  it('by its size after decompression does no harm, whatever follows', async () => {
    const bomb = gzipSync(Buffer.alloc(4 * MAX_BYTES));
    const body = Buffer.concat([bomb.subarray(0, -8), Buffer.alloc(100_000, 1)]);
    const headers = ['Content-Encoding: gzip', `Content-Length: ${body.length}`];
    expect(await statusesOf(head('POST', '/api/v1/tasks', headers), body, NEXT)).toEqual(['429', '200']);
  });
});
