import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CHECKOUT, start } from '../../support/processes/command.js';
import { fileText } from '../../support/processes/compose.js';

const dockerfile = fileText('Dockerfile');

describe('the image', () => {
  it('has one release of the Node that CI tests as the current LTS', () => {
    const [, lts] = /^readonly LTS=(\d+)$/mu.exec(fileText('.ci/run')) ?? [];
    const bases = [...dockerfile.matchAll(/^FROM node:(\S+)/gmu)].map(([, tag]) => tag);
    expect(bases).toEqual([bases[0], bases[0]]); // two stages, on the same release
    expect(bases[0]).toMatch(new RegExp(`^${lts}\\.\\d+\\.\\d+-bookworm-slim$`, 'u'));
  });

  it('runs as a user without privileges', () => {
    expect([...dockerfile.matchAll(/^USER (\S+)$/gmu)].at(-1)?.[1]).toBe('node');
  });

  it('is built from files in its build context', () => {
    const kept = fileText('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    for (const path of kept) expect(existsSync(join(CHECKOUT, path)), path).toBe(true);
    const [, product = ''] = /^const PRODUCT = \[(.*)\];$/mu.exec(fileText('build.js')) ?? [];
    const sources = [...product.matchAll(/'([^']+)'/gu)].map(([, path]) => path);
    expect(sources).toContain('services');
    for (const path of [...sources, 'build.js', 'flightlog.js']) expect(kept).toContain(path);
  });

  it.each([
    [200, 0],
    [503, 1],
  ])('is healthy only when the process is ready: status %d gives the exit code %d', async (status, code) => {
    const server = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const [, command = ''] = /^HEALTHCHECK[^\n]*\\\n *CMD (\[.+\])$/mu.exec(dockerfile) ?? [];
    const [program = '', ...args] = JSON.parse(command) as readonly string[];
    expect((await start(program, args, { env: { FLIGHTLOG_HTTP_PORT: String(port) } }).ended).code).toBe(code);
    server.close();
  });
});
