import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

import { afterEach, expect, it, vi } from 'vitest';

import { http2Sessions } from '../../../services/gateway/grpc/sessions.js';

/** The first bytes of a client of HTTP/2. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** A SETTINGS frame without settings. */
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
/** A GOAWAY frame of the last stream 0, without an error: the client ends the session. */
const GOAWAY = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
/** The interval at which `http2Sessions` pings. */
const PING_EVERY_MS = 60_000;

const closing: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

it('a connection whose client ends the session, and does not close, is closed when the next ping is due', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  closing.push(() => vi.useRealTimers());
  const sessions = http2Sessions(() => undefined);
  const server = createServer(sessions.serve).listen(0, '127.0.0.1');
  closing.push(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  closing.push(() => client.destroy());
  const [socket] = (await once(server, 'connection')) as [Socket];
  const ended = once(client.resume(), 'end');
  client.write(Buffer.concat([PREFACE, SETTINGS, GOAWAY]));
  await ended;
  expect(socket.destroyed).toBe(false);
  const closed = once(socket, 'close');
  vi.advanceTimersByTime(PING_EVERY_MS);
  await closed;
});
