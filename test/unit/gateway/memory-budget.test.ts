import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, Socket } from 'node:net';

import { create, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { ObjectGetRequestSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { TaskSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { answerBudget, type MemoryReservation } from '../../../services/gateway/memory-budget.js';
import { type Route, route } from '../../../services/kernel/rpc.js';
import { overGrpc, overHttp } from './toy.js';

/** The size of each answer. */
const ANSWER_BYTES = 400_000;

/** Routes with large answers, which reserve memory before they make the answer. */
const large = (): { routes: readonly Route[]; handled: () => number } => {
  let handled = 0;
  const read = route(AdminService.method.getTask, async (_request, call) => {
    await call.reserveMemory?.(ANSWER_BYTES);
    handled++;
    return create(TaskSchema, { shortDescription: 'x'.repeat(ANSWER_BYTES) });
  });
  return { routes: [read], handled: () => handled };
};

/** Limits of a budget: three times the size of an answer for a connection, six times in all. */
const limits = (more: Partial<Parameters<typeof answerBudget>[0]> = {}) => ({
  perConnectionBytes: 3 * ANSWER_BYTES,
  totalBytes: 6 * ANSWER_BYTES,
  waitMs: 30_000,
  stallTimeoutMs: 60_000,
  ...more,
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const framed = (message: Uint8Array): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

/**
 * A client that sends many calls over one connection and reads no answer until `read` is called. `statuses` has the
 * names of the gRPC statuses of the answers that came.
 */
const unreading = (port: number, calls: number) => {
  const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  session.on('error', () => undefined);
  const statuses: string[] = [];
  const message = framed(toBinary(ObjectGetRequestSchema, create(ObjectGetRequestSchema, { id: { name: 'x' } })));
  const path = '/flyteidl.service.AdminService/GetTask';
  for (let i = 0; i < calls; i++) {
    const request = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    const see = (sent: { 'grpc-status'?: unknown }) => {
      if (typeof sent['grpc-status'] === 'string') statuses.push(status[Number(sent['grpc-status'])] ?? '');
    };
    request
      .on('response', see)
      .on('trailers', see)
      .on('error', () => undefined);
    request.resume().end(message);
  }
  closing.push(() => session.destroy());
  return { session, statuses, read: () => session.settings({ initialWindowSize: 10_000_000 }) };
};

/** A gRPC server with {@link large} answers and these limits. */
const serving = async (limits: Parameters<typeof answerBudget>[0], more: { handshakeMs?: number } = {}) => {
  const { routes, handled } = large();
  const answers = answerBudget(limits);
  const toy = await overGrpc(routes, [], { answers, ...more });
  closing.push(() => toy.close(), answers.close);
  return { ...toy, handled };
};

describe('a memory budget', () => {
  const socket = (): Socket => new Socket();

  it('admits the calls of a connection while 1,000 calls of another one wait for memory of their connection', async () => {
    const budget = answerBudget(limits({ waitMs: 50 }));
    closing.push(budget.close);
    const busy = socket();
    await budget.open(busy).reserve(3 * ANSWER_BYTES);
    const waiting = Promise.allSettled(Array.from({ length: 1_000 }, () => budget.open(busy).reserve(1)));
    const refused = budget.open(busy).reserve(1);
    await expect(refused).rejects.toThrow('too many answers wait to be read on this connection');
    await budget.open(socket()).reserve(ANSWER_BYTES);
    for (const { status, reason } of (await waiting) as PromiseRejectedResult[])
      expect(`${status} ${String(reason)}`).toContain('on this connection');
  });

  it('lets a call wait while 1,000 calls of another connection wait for the memory of that connection', async () => {
    const budget = answerBudget(limits({ waitMs: 30_000 }));
    closing.push(budget.close);
    const busy = socket();
    const full = budget.open(busy);
    await full.reserve(3 * ANSWER_BYTES);
    const calls = Array.from({ length: 1_000 }, () => budget.open(busy));
    const waiting = Promise.allSettled(calls.map((call) => call.reserve(1)));
    const other = budget.open(socket());
    await other.reserve(3 * ANSWER_BYTES);
    const last = budget.open(socket()).reserve(1);
    other.release();
    await last;
    for (const call of calls) call.release();
    const reasons = (await waiting).map((each) => (each.status === 'rejected' ? String(each.reason) : ''));
    expect(reasons.filter((text) => text.includes('on this connection'))).toHaveLength(1);
  });

  it('says "here" when the memory of all connections is full, and gives a call with memory more of it', async () => {
    const budget = answerBudget(limits({ waitMs: 50 }));
    closing.push(budget.close);
    const holding = budget.open(socket());
    await holding.reserve(6 * ANSWER_BYTES);
    const waiting = Promise.allSettled(Array.from({ length: 1_000 }, () => budget.open(socket()).reserve(1)));
    await expect(budget.open(socket()).reserve(1)).rejects.toThrow('too many answers wait to be read here');
    await holding.reserve(ANSWER_BYTES);
    for (const { status } of await waiting) expect(status).toBe('rejected');
  });

  it.each<[string, (first: MemoryReservation) => void]>([
    ['has ended', (first) => first.release()],
    ['has waited too long', () => vi.advanceTimersByTime(60)],
  ])('admits a call that needs less once the call before it %s', async (_, end) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    closing.push(() => vi.useRealTimers());
    const budget = answerBudget(limits({ waitMs: 100 }));
    closing.push(budget.close);
    await budget.open(socket()).reserve(5 * ANSWER_BYTES);
    const first = budget.open(socket());
    const tooMuch = first.reserve(2 * ANSWER_BYTES);
    vi.advanceTimersByTime(50);
    const second = budget.open(socket()).reserve(ANSWER_BYTES);
    end(first);
    await expect(tooMuch).rejects.toThrow();
    await second;
  });
});

describe('answers that are not read', () => {
  it('are not made while the memory of their connection is full, and all come once they are read', async () => {
    const toy = await serving(limits());
    const caller = unreading(toy.port, 12);
    await expect.poll(toy.handled).toBe(1); // an answer counts three times while it is built
    await new Promise((resolve) => caller.session.ping(resolve));
    expect(toy.handled()).toBe(1);
    caller.read();
    await expect.poll(() => caller.statuses, { timeout: 10_000 }).toEqual(Array(12).fill('OK'));
  });

  it('are RESOURCE_EXHAUSTED where the memory budget stays full', async () => {
    const toy = await serving(limits({ waitMs: 300 }));
    const caller = unreading(toy.port, 4);
    await expect.poll(() => caller.statuses, { timeout: 5_000 }).toContain('RESOURCE_EXHAUSTED');
  });

  it('take no memory from another connection', async () => {
    const toy = await serving(limits());
    unreading(toy.port, 12);
    await expect.poll(toy.handled).toBe(1);
    const reader = unreading(toy.port, 1);
    reader.read();
    await expect.poll(() => reader.statuses, { timeout: 5_000 }).toEqual(['OK']);
  });

  it('release their memory when the caller disconnects', async () => {
    const toy = await serving(limits({ totalBytes: 3 * ANSWER_BYTES }));
    const first = unreading(toy.port, 3);
    await expect.poll(toy.handled).toBe(1);
    const second = unreading(toy.port, 1);
    second.read();
    first.session.destroy();
    await expect.poll(() => second.statuses, { timeout: 5_000 }).toEqual(['OK']);
  });

  it('are not made for the calls of a connection that has ended', async () => {
    const toy = await serving(limits());
    for (let i = 0; i < 4; i++) {
      const before = toy.handled();
      const caller = unreading(toy.port, 12);
      await expect.poll(toy.handled).toBeGreaterThan(before);
      caller.session.destroy();
    }
    const last = unreading(toy.port, 3);
    last.read();
    await expect.poll(() => last.statuses, { timeout: 5_000 }).toEqual(['OK', 'OK', 'OK']);
    expect(toy.handled()).toBeLessThanOrEqual(4 * 2 + 3); // of 51; each connection that ended may have admitted one more
  });

  it('end the connection of a caller that reads nothing', async () => {
    const toy = await serving(limits({ stallTimeoutMs: 300 }));
    const caller = unreading(toy.port, 1);
    const pings = setInterval(() => caller.session.destroyed || caller.session.ping(() => undefined), 20);
    closing.push(() => clearInterval(pings));
    await expect.poll(() => caller.session.destroyed, { timeout: 5_000 }).toBe(true);
  });
});

describe('answers over REST that are not read', () => {
  it('end their connection', async () => {
    const answers = answerBudget(limits({ stallTimeoutMs: 300 }));
    const huge = route(AdminService.method.getTask, () =>
      // More than the buffers of the operating system take.
      Promise.resolve(create(TaskSchema, { shortDescription: 'x'.repeat(20_000_000) })),
    );
    const toy = await overHttp([huge], [], { answers });
    closing.push(() => toy.close(), answers.close);
    const socket = connect(Number(new URL(toy.url).port), '127.0.0.1').pause();
    let isGone = false;
    socket.on('error', () => (isGone = true));
    socket.write('GET /api/v1/tasks/p/d/n/v HTTP/1.1\r\nHost: x\r\n\r\n');
    const poke = setInterval(() => socket.write('x'), 100); // only a write detects the end of a socket that is not read
    closing.push(() => clearInterval(poke));
    await expect.poll(() => isGone, { timeout: 8_000 }).toBe(true);
  });
});

/** A connection that sends these bytes and nothing more. */
const silent = (port: number, firstBytes = ''): Socket => {
  const socket = connect(port, '127.0.0.1', () => socket.write(firstBytes)).resume();
  socket.on('error', () => undefined);
  closing.push(() => socket.destroy());
  return socket;
};

describe('a connection that lacks the HTTP/2 preface or, over REST, the headers of a request', () => {
  it.each(['', 'PRI * HTTP/2.0\r\n'])('is closed by the gRPC server after `handshakeMs`: %j', async (firstBytes) => {
    const toy = await serving(limits(), { handshakeMs: 200 });
    const speaking = connectHttp2(`http://127.0.0.1:${toy.port}`);
    closing.push(() => speaking.destroy());
    const socket = silent(toy.port, firstBytes);
    await expect.poll(() => socket.closed, { timeout: 5_000 }).toBe(true);
    expect(speaking.destroyed).toBe(false);
  });

  it.each(['', 'GET / HTTP/1.1\r\nHost:'])(
    'is closed by the REST server after `handshakeMs`: %j',
    async (firstBytes) => {
      const toy = await overHttp([], [], { handshakeMs: 200 });
      closing.push(() => toy.close());
      const socket = silent(Number(new URL(toy.url).port), firstBytes);
      await expect.poll(() => socket.closed, { timeout: 5_000 }).toBe(true);
    },
  );

  it('gets an error in the usual form over REST before it is closed', async () => {
    const toy = await overHttp([], [], { handshakeMs: 200 });
    closing.push(() => toy.close());
    const socket = silent(Number(new URL(toy.url).port), 'GET / HTTP/1.1\r\nHost:');
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    await expect.poll(() => socket.closed, { timeout: 5_000 }).toBe(true);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /u);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
      code: status.DEADLINE_EXCEEDED,
      details: [],
    });
  });
});

describe('connections above the limit', () => {
  it('are closed as they come, and earlier ones stay open', async () => {
    const toy = await overGrpc([], [], { maxConnections: 2 });
    closing.push(() => toy.close());
    const kept = [silent(toy.port), silent(toy.port)];
    await expect.poll(() => kept.every(({ readyState }) => readyState === 'open')).toBe(true);
    const third = silent(toy.port);
    await expect.poll(() => third.closed).toBe(true);
    expect(kept.map(({ closed }) => closed)).toEqual([false, false]);
  });
});
