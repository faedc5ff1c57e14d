import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it, vi } from 'vitest';
import { signals } from '../../../services/cli/client/executions/signal.js';

/** The pages of a list of signals, by their tokens. */
const PAGES: Readonly<Record<string, object>> = {
  '': { signals: [{ id: { signalId: 'first' } }], token: 'more' },
  more: { signals: [{ id: { signalId: 'second' } }], token: '' },
};

it('the signals of an execution are read from all pages of the list', async () => {
  const server = createServer(({ url = '' }, response) => {
    const token = new URL(url, 'http://localhost').searchParams.get('token') ?? '';
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(PAGES[token]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    const { port } = server.address() as { port: number };
    const flags = { server: `http://127.0.0.1:${port}`, project: 'p', domain: 'd', output: 'name' } as const;
    await signals('editorial', flags);
    expect(written.mock.calls).toEqual([['first\n'], ['second\n']]);
  } finally {
    written.mockRestore();
    server.close();
  }
});
