import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it, vi } from 'vitest';
import { audit } from '../../../services/cli/client/audit.js';

/** Serves these answers as JSON, one to each request; the last one to all further requests. */
const serving = async (answers: readonly { readonly status: number; readonly body: object }[]) => {
  let count = 0;
  const server = createServer((_, response) => {
    const { status, body } = answers[Math.min(count++, answers.length - 1)]!;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, close: () => server.close() };
};

const unavailable = { status: 503, body: { code: 14, message: 'shutting down' } };
const overloaded = { status: 429, body: { code: 8, message: 'retry later' } };
const refused = { status: 403, body: { code: 7, message: 'enough' } };
const entry = (id: number) => ({ status: 200, body: { entries: [{ id, at: '2026-03-02T09:58:16Z' }] } });

it.each([
  ['away', unavailable],
  ['overloaded', overloaded],
])('a followed audit continues when the server is %s after the first answer', async (_, failure) => {
  const { url, close } = await serving([entry(1), failure, entry(2), refused]);
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await expect(audit({ server: url, follow: true, json: true })).rejects.toThrow('PERMISSION_DENIED: enough');
    expect(written.mock.calls.map(([line]) => (JSON.parse(String(line)) as { id: string }).id)).toEqual(['1', '2']);
  } finally {
    written.mockRestore();
    close();
  }
});

it.each([true, false])('an audit ends when the server is away at the start (follow: %s)', async (follow) => {
  const { url, close } = await serving([unavailable]);
  await expect(audit({ server: url, follow, json: true })).rejects.toThrow('UNAVAILABLE: shutting down');
  close();
});
