import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { answerConsole } from '../../../services/gateway/console/answer.js';
import { consoleFile, isConsolePath } from '../../../services/gateway/console/files.js';

const folder = mkdtempSync(join(tmpdir(), 'flightlog-console-'));
const url = pathToFileURL(`${folder}/`);

const LARGE = 'draw();'.repeat(20_000);
/** Smaller than what the server makes of an answer that it compresses itself. */
const LARGE_GZIPPED = gzipSync(LARGE, { level: 9 });

beforeAll(() => {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<head><title>console</title></head>');
  writeFileSync(join(folder, 'assets/index-1.js'), 'start()');
  writeFileSync(join(folder, 'assets/large-1.js'), LARGE);
  writeFileSync(join(folder, 'assets/large-1.js.gz'), LARGE_GZIPPED);
});
afterAll(() => rmSync(folder, { recursive: true }));

const textAt = async (path: string): Promise<string> => (await consoleFile(path, url).read()).toString();

describe('the files of the web console', () => {
  it.each([
    ['/console', 'https://example.com/console/'],
    ['/console/', 'https://example.com/console/'],
    ['/console/events', 'https://example.com/console/'],
    ['/console/projects/a/domains/b/executions/c', 'https://example.com/console/'],
  ])('the page at %s has a base that leads to %s, also below the prefix of a proxy', async (path, root) => {
    const [, base = ''] = /<base href="(.*?)">/u.exec(await textAt(path)) ?? [];
    expect(new URL(base, `https://example.com${path}`).href).toBe(root);
    const below = `https://example.com/flights${path}`;
    expect(new URL(base, below).href).toBe(root.replace('/console', '/flights/console'));
  });

  it('assets have their media type, and a header that lets browsers keep them for a year', async () => {
    expect(consoleFile('/console/assets/index-1.js', url)).toMatchObject({
      mediaType: 'text/javascript; charset=utf-8',
      cacheControl: 'public, max-age=31536000, immutable',
    });
    expect(await textAt('/console/assets/index-1.js')).toBe('start()');
  });

  it.each([
    '/console/assets/../index.html',
    '/console/assets/%2e%2e/index.html',
    '/console/assets/a/b.js',
    '/console/assets/..',
    '/console/assets/.',
  ])('%s gives the page, and no file outside of the assets', async (path) => {
    expect(await textAt(path)).toContain('<title>console</title>');
  });

  it('a server without a built console names the command that builds it', async () => {
    const page = await consoleFile('/console', new URL('absent/', url)).read();
    expect(page.toString()).toContain('npm run build:console');
  });

  it('a page that was built and cannot be read is an error', async () => {
    mkdirSync(join(folder, 'broken/index.html'), { recursive: true });
    await expect(consoleFile('/console', new URL('broken/', url)).read()).rejects.toMatchObject({ code: 'EISDIR' });
  });

  it('have the path /console or one below it', () => {
    expect(['/console', '/console/x'].every(isConsolePath)).toBe(true);
    expect(['/', '/consoles', '/api/v1/console'].some(isConsolePath)).toBe(false);
  });

  it('are sent as the build has compressed them to browsers that accept gzip, and uncompressed to others', async () => {
    const app = Fastify();
    app.get('*', (request, reply) => void answerConsole(request, reply, { path: request.url, folder: url }));
    const get = (name: string, encoding: string) =>
      app.inject({ url: `/console/assets/${name}`, headers: { 'accept-encoding': encoding } });
    const large = await get('large-1.js', 'gzip, br');
    expect(large.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept, accept-encoding' });
    expect(large.rawPayload.equals(LARGE_GZIPPED)).toBe(true);
    const plain = await get('large-1.js', 'gzip;q=0');
    expect([plain.headers['content-encoding'], plain.payload]).toEqual([undefined, LARGE]);
    expect((await get('index-1.js', 'gzip')).payload).toBe('start()');
    await app.close();
  });
});
