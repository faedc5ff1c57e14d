import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';

const MIB = 1024 * 1024;
/** The size that a request states, and the part of it that is sent. */
const ANNOUNCED_BYTES = 60 * MIB;
const SENT_BYTES = 8 * MIB;
/** The number of requests. All would take 800 MiB of memory; those that the memory budget admits take much less. */
const UNFINISHED = 100;
/** The most memory that the requests may take. */
const GROWTH_BYTES = 300 * MIB;

const data = mkdtempSync(join(tmpdir(), 'unfinished-'));
let server: ServerProcess;
beforeAll(async () => {
  server = await startServerProcess({ data });
});
afterAll(async () => {
  await server.stop();
  rmSync(data, { recursive: true });
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** The memory of the server process, as the kernel counts it. */
const residentBytes = (): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) * 1024;

const portOf = (address: string): number => Number(/:(\d+)$/.exec(address)?.[1]);

const version = async (): Promise<number> => (await fetch(`${server.ready.http}/api/v1/version`)).status;

/** The peak memory of the server until no more sent bytes leave the clients; small calls are answered meanwhile. */
const peakWhile = async (sent: () => number): Promise<number> => {
  let peak = 0;
  let seen = -1;
  for (let callsWithoutProgress = 0; callsWithoutProgress < 100; callsWithoutProgress++) {
    if (sent() !== seen) callsWithoutProgress = 0;
    seen = sent();
    expect(await version()).toBe(200);
    peak = Math.max(peak, residentBytes());
  }
  return peak;
};

/** Opens calls on one connection; each announces a large message and sends only a part of it. */
const unfinishedCalls = (calls: number): ClientHttp2Session => {
  const session = connectHttp2(`http://${server.ready.grpc}`);
  session.on('error', () => undefined);
  closing.push(() => session.destroy());
  const head = Buffer.alloc(5); // of a gRPC frame: a flag and the length
  head.writeUInt32BE(ANNOUNCED_BYTES, 1);
  const part = Buffer.concat([head, Buffer.alloc(SENT_BYTES, 'x')]);
  for (let i = 0; i < calls; i++) {
    const path = '/flyteidl.service.AdminService/CreateExecution';
    const request = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    request.on('error', () => undefined).resume();
    request.write(part);
  }
  return session;
};

/** Opens connections; each announces a large body and sends only a part of it. */
const unfinishedBodies = (connections: number, head: string): readonly Socket[] =>
  Array.from({ length: connections }, () => {
    const socket = connect(portOf(server.ready.http), '127.0.0.1').resume();
    socket.on('error', () => undefined);
    closing.push(() => socket.destroy());
    socket.write(`POST /api/v1/executions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${head}`);
    socket.write(Buffer.alloc(SENT_BYTES, 'x'));
    return socket;
  });

describe('large requests that are never completed', () => {
  it('take less than 300 MiB over gRPC, and small calls are answered', async () => {
    const before = residentBytes();
    const session = unfinishedCalls(UNFINISHED);
    const peak = await peakWhile(() => session.socket.bytesWritten);
    expect(peak - before).toBeLessThan(GROWTH_BYTES);
    expect(session.destroyed).toBe(false);
  });

  it.each([
    ['with a Content-Length', `Content-Length: ${ANNOUNCED_BYTES}\r\n\r\n`],
    ['in chunks', `Transfer-Encoding: chunked\r\n\r\n${ANNOUNCED_BYTES.toString(16)}\r\n`],
  ])('take less than 300 MiB over REST, %s, and small calls are answered', async (_how, head) => {
    const before = residentBytes();
    const sockets = unfinishedBodies(UNFINISHED, head);
    const sent = () =>
      sockets.reduce((sum, { bytesWritten, writableLength }) => sum + bytesWritten - writableLength, 0);
    const peak = await peakWhile(sent);
    expect(peak - before).toBeLessThan(GROWTH_BYTES);
  });
});
