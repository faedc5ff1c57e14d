import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { idleConnections } from '../../../services/gateway/rest/connections.js';

const LIMIT = { timeout: 20_000 };

let server: Server;
let client: Socket;
afterEach(() => {
  client.destroy();
  server.closeAllConnections();
  server.close();
});

/**
 * A server with one client. `idle.all()` are the connections of the server that are idle now; `untilAnswered` waits
 * until so many requests have been answered, `untilIdle` until so many connections are idle.
 */
const withClient = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  server = createServer(answer);
  const idle = idleConnections(server);
  const state = { answered: 0, read: () => 0 };
  server.on('connection', (socket) => (state.read = () => socket.bytesRead));
  server.on('request', (_request, response: ServerResponse) => response.once('close', () => (state.answered += 1)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  /** Sends a text; resolves when the server has read it. */
  const send = async (text: string): Promise<void> => {
    const before = state.read();
    client.write(text);
    await expect.poll(() => state.read() - before, LIMIT).toBe(text.length);
  };
  const untilAnswered = (count: number) => expect.poll(() => state.answered, LIMIT).toBe(count);
  const untilIdle = (count: number) => expect.poll(() => idle.all().length, LIMIT).toBe(count);
  return { idle, send, untilAnswered, untilIdle };
};

describe('a connection', { timeout: 60_000 }, () => {
  it('is idle before its first request and after each answer', async () => {
    const { idle, send, untilAnswered, untilIdle } = await withClient((_request, response) => response.end());
    await untilIdle(1);
    await send('GET / HTTP/1.1\r\nHo');
    expect(idle.all()).toEqual([]);
    await send('st: x\r\n\r\n');
    await untilAnswered(1);
    await untilIdle(1);
    await send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody');
    await untilAnswered(2);
    await untilIdle(1);
  });

  it('is not idle when a half of a request arrived before the one in flight was answered', async () => {
    const open: ServerResponse[] = [];
    const { idle, send, untilAnswered, untilIdle } = await withClient((_request, response) => void open.push(response));
    await send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await send('GET / HTTP/1.1\r\nHo');
    open[0]?.end();
    await untilAnswered(1);
    expect(idle.all()).toEqual([]);
    await send('st: x\r\n\r\n');
    open[1]?.end();
    await untilAnswered(2);
    await untilIdle(1);
  });

  it('is not idle when a half of a request arrived before the body of the one before it was read', async () => {
    let first: IncomingMessage | undefined;
    const { idle, send, untilAnswered, untilIdle } = await withClient((request, response) => {
      if (first === undefined) first = request.once('end', () => response.end());
      else response.end();
    });
    await send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n');
    await send('body');
    await send('GET / HTTP/1.1\r\nHo');
    first?.resume();
    await untilAnswered(1);
    expect(idle.all()).toEqual([]);
    await send('st: x\r\n\r\n');
    await untilAnswered(2);
    await untilIdle(1);
  });

  it('is idle when the rest of a refused request has arrived, and not before', async () => {
    const { idle, send, untilAnswered, untilIdle } = await withClient((request, response) => {
      request.resume();
      response.writeHead(413).end();
    });
    await send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n');
    await untilAnswered(1);
    expect(idle.all()).toEqual([]);
    await send('half');
    expect(idle.all()).toEqual([]);
    await send('rest');
    await untilIdle(1);
  });
});
