import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { route } from '../../../services/kernel/rpc.js';
import { overHttp } from './toy.js';

const { method } = AdminService;
const TASK = '/api/v1/tasks/p/d/n/v';

type Own = Awaited<ReturnType<typeof overHttp>>;

/** A connection to a server; `receives` waits for a text. */
const connected = (own: Own) => {
  const socket: Socket = connect(Number(new URL(own.url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString())).on('error', () => undefined);
  const receives = (part: string) => expect.poll(() => text, { timeout: 20_000 }).toContain(part);
  return { socket, receives };
};

describe('a server that closes', { timeout: 60_000 }, () => {
  it('cuts clients off again when they connect again after they were cut off', async () => {
    const own = await overHttp([route(method.getTask, () => new Promise(() => undefined))]);
    let ended = 0;
    const ask = (): void => {
      const { socket } = connected(own);
      let isConnected = false;
      socket.once('connect', () => {
        isConnected = true;
        socket.write(`GET ${TASK} HTTP/1.1\r\nHost: x\r\n\r\n`);
      });
      socket.once('close', () => {
        if (isConnected) ask();
        else ended += 1;
      });
    };
    for (let each = 0; each < 20; each += 1) ask();
    // Once this later connection is answered, the server has accepted those before it, and `close` must cut them off.
    const { socket: idle, receives } = connected(own);
    idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await receives('{"alive":true}');
    await own.server.close({ drainMs: 20 });
    await expect.poll(() => ended, { timeout: 20_000 }).toBe(20);
  });
});
