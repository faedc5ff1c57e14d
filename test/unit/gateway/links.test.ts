import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';

import { fastify, type FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';

import { routed, serveLinks } from '../../../services/gateway/rest/links.js';
import type { OpenFile } from '../../../services/kernel/ports/uploads.js';

let app: FastifyInstance;
afterEach(() => app.close());

/** Serves one file on a free port, whatever the link; `open` opens it. */
const serve = async (open: () => Promise<OpenFile>): Promise<number> => {
  app = fastify({ rewriteUrl: ({ url }) => routed(url) });
  serveLinks(app, { get: open, put: () => Promise.resolve('link-invalid') });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
};

const openFile = (close: () => void): OpenFile => ({
  name: 'a.txt',
  sizeBytes: 3,
  content: (async function* () {
    yield await Promise.resolve(Buffer.from('abc'));
  })(),
  close,
});

it('a file is closed after it was sent', async () => {
  const events = new EventEmitter();
  const closed = once(events, 'closed');
  const port = await serve(() => Promise.resolve(openFile(() => events.emit('closed'))));
  expect(await (await fetch(`http://127.0.0.1:${port}/data/a.txt`)).text()).toBe('abc');
  await closed;
});

it('a file is closed when the client has disconnected before any of it was sent', async () => {
  const events = new EventEmitter();
  const [asked, gone, closed] = ['asked', 'gone', 'closed'].map((name) => once(events, name));
  const port = await serve(async () => {
    events.emit('asked');
    await gone;
    return openFile(() => events.emit('closed'));
  });
  app.server.on('connection', (connection) => connection.on('close', () => events.emit('gone')));
  const client = connect(port, '127.0.0.1', () => client.write('GET /data/a.txt HTTP/1.1\r\nhost: localhost\r\n\r\n'));
  await asked;
  client.resetAndDestroy();
  await closed;
});
