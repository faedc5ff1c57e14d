import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { TaskCreateResponseSchema, TaskSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { route } from '../../../services/kernel/rpc.js';
import { overHttp } from './toy.js';

/** The steps of all handlers, in order. */
let steps: string[] = [];
/** Lets the handlers that wait answer. */
let release: () => void = () => undefined;
let toy: Awaited<ReturnType<typeof overHttp>>;
const sockets: Socket[] = [];

/**
 * Serves a write and a read named `slow`, which wait for `release`, and other reads. The headers of a request may take
 * `handshakeMs`; after a wait behind other requests, a body of which nothing comes for as long is late, too.
 */
const open = (handshakeMs = 10_000) => {
  steps = [];
  const released = new Promise<void>((resolve) => (release = resolve));
  const routes = [
    route(AdminService.method.createTask, async () => {
      steps.push('write');
      await released;
      steps.push('written');
      return create(TaskCreateResponseSchema);
    }),
    route(AdminService.method.getTask, async ({ id }) => {
      steps.push(`read ${id?.version}`);
      if (id?.version === 'slow') await released;
      return create(TaskSchema, { shortDescription: id?.version ?? '' });
    }),
  ];
  return overHttp(routes, [], { handshakeMs });
};

beforeEach(async () => {
  toy = await open();
});

afterEach(async () => {
  release();
  for (const socket of sockets.splice(0)) socket.destroy();
  await toy.close();
});

const read = (version: string | number): string => `GET /api/v1/tasks/p/d/n/${version} HTTP/1.1\r\nHost: x\r\n\r\n`;
const write = (more = ''): string => `POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\n${more}Content-Length: 2\r\n\r\n{}`;

/** Sends requests over one connection, without waiting for answers. */
const send = (text: string) => {
  const socket = connect(Number(new URL(toy.url).port), '127.0.0.1');
  sockets.push(socket);
  let received = '';
  socket.on('error', () => undefined).on('data', (bytes) => (received += bytes.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(text);
  return { socket, closed, received: () => received };
};

/** A request of 4 KiB. */
const padded = read(1)
  .replace('\r\n\r\n', `\r\nPadding: ${'x'.repeat(4_096)}`)
  .slice(0, 4_092)
  .concat('\r\n\r\n');

/** True when the socket has passed the bytes to the operating system within a second. */
const isTaken = (socket: Socket, bytes: Buffer): Promise<boolean> =>
  new Promise((resolve) => {
    socket.write(bytes, () => resolve(true));
    setTimeout(resolve, 1_000, false);
  });

/** Waits until the handler of a write has begun. */
const begun = () => expect.poll(() => steps).toContain('write');

describe('requests that a client sends without waiting for answers', () => {
  it('are handled one after the other, and answered in order', async () => {
    const { received } = send(write() + read(1) + read(2));
    await begun();
    await toy.get('/healthcheck');
    expect(steps).toEqual(['write']);
    release();
    await expect.poll(received).toMatch(/200 OK.*200 OK.*"1".*200 OK.*"2"/su);
    expect(steps).toEqual(['write', 'written', 'read 1', 'read 2']);
  });

  it('are all answered, however many they are', async () => {
    const { received } = send(write() + Array.from({ length: 3_000 }, (_, at) => read(at)).join(''));
    await begun();
    release();
    await expect.poll(() => received().match(/HTTP\/1\.1 200 OK/gu)?.length, { timeout: 20_000 }).toBe(3_001);
    expect(steps.slice(2)).toEqual(Array.from({ length: 3_000 }, (_, at) => `read ${at}`));
  }, 30_000);

  it('are not too late when one before them takes long, though a part of them is not read meanwhile', async () => {
    await toy.close();
    toy = await open(500);
    const { received } = send(write() + padded.repeat(100));
    await begun();
    await pause(1_000);
    release();
    await expect.poll(() => received().match(/HTTP\/1\.1 200 OK/gu)?.length, { timeout: 5_000 }).toBe(101);
  });

  it('with bodies, of which a part comes later, are handled in order', async () => {
    const { socket, received } = send(write() + write().slice(0, -1));
    await begun();
    socket.write(`}${read('last')}`);
    release();
    await expect.poll(received).toMatch(/"last"/u);
    expect(steps).toEqual(['write', 'written', 'write', 'written', 'read last']);
  });

  it.each([
    ['headers', '', 'GET /api/v1/tasks/p/d/n/2 HTTP/1.1\r\nHost'],
    ['body', ': x\r\nContent-Length: 5\r\n\r\n', 'POST /api/v1/tasks HTTP/1.1\r\nHost'],
  ])('are too late when the last one still lacks its %s after the answers to those before', async (_, more, last) => {
    await toy.close();
    toy = await open(500);
    const { socket, closed, received } = send(`${write()}${read(1)}${last}`);
    await begun();
    await pause(1_000);
    release();
    socket.write(more);
    await closed;
    expect(received().match(/HTTP\/1\.1 \d+/gu)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 408']);
  });

  it.each([
    ['a write', write()],
    ['a read', 'GET /api/v1/tasks/p/d/n/slow HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('are not read while %s before them is handled, beyond what fits the buffers', async (_, first) => {
    const { socket } = send(first);
    await expect.poll(() => steps).toHaveLength(1);
    const mebibyte = Buffer.from(padded.repeat(2 ** 20 / padded.length));
    let sent = 0;
    // The operating system buffers some mebibytes.
    while (sent < 32 && (await isTaken(socket, mebibyte))) sent += 1;
    expect(sent).toBeLessThan(32);
    const { received } = send(read(2));
    await expect.poll(received).toContain('200 OK');
    expect(steps).toEqual([expect.anything(), 'read 2']);
  });

  it('do not delay those of other connections', async () => {
    send(write() + read(1).repeat(1_000));
    await begun();
    expect((await toy.get('/api/v1/tasks/p/d/n/v')).status).toBe(200);
  });

  it('are not carried out when their client has gone', async () => {
    const { socket } = send(write() + write() + read(1));
    await begun();
    socket.resetAndDestroy();
    await pause(50);
    release();
    await toy.get('/healthcheck');
    await pause(50);
    expect(steps).toEqual(['write', 'written']);
  });

  it('are not carried out after one that closes the connection, because they would not be answered', async () => {
    const { closed, received } = send(write('Connection: close\r\n') + write());
    await begun();
    release();
    await closed;
    expect(received().match(/HTTP\/1\.1 \d+/gu)).toEqual(['HTTP/1.1 200']);
    expect(steps).toEqual(['write', 'written']);
  });
});

describe('a request that is malformed', () => {
  it.each([
    ['at its beginning', '\x16\x03\x01\r\n\r\n'],
    ['in a header', 'GET /healthcheck HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['in its body', 'POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\nzz\r\n'],
  ])('%s is refused after the requests before it are answered', async (_, malformed) => {
    const { closed, received } = send(write() + read(1) + malformed);
    await begun();
    await toy.get('/healthcheck');
    expect(received()).toBe('');
    release();
    await closed;
    expect(received().match(/HTTP\/1\.1 \d+/gu)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(steps).toEqual(['write', 'written', 'read 1']);
  });

  it('in its body is refused at once when no request is before it', async () => {
    const { closed, received } = send(
      'POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\nzz\r\n',
    );
    await closed;
    expect(received().match(/HTTP\/1\.1 \d+/gu)).toEqual(['HTTP/1.1 400']);
    expect(steps).toEqual([]);
  });
});
