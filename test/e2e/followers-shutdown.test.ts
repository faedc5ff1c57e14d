import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { tailByEvents, tailOverGrpc, watchByEvents, watchOverGrpc } from '../support/clients/followers.js';
import { startServerProcess } from '../support/processes/server-process.js';

const DOMAIN = { project: 'flytesnacks', domain: 'development' };

it('a shutdown ends tails and watches, and reports none of them as a failed call', async () => {
  const data = mkdtempSync(join(tmpdir(), 'flightlog-followers-'));
  const server = await startServerProcess({ data });
  const [grpc, http] = [() => server.ready.grpc, () => new URL(server.ready.http).host];
  const connects = [tailOverGrpc(grpc), tailByEvents(http), watchOverGrpc(grpc, DOMAIN), watchByEvents(http, DOMAIN)];
  const followers = connects.map((connect) => connect('')[Symbol.asyncIterator]());
  for (const follower of followers) expect((await follower.next()).done).toBe(false);
  const messages = followers.map(async (follower) => {
    try {
      while ((await follower.next()).done !== true);
      return 'ended';
    } catch (error) {
      return (error as Error).message;
    }
  });
  expect(await server.stop()).toBe(0);
  const [overGrpc, , watching] = await Promise.all(messages);
  expect([overGrpc, watching]).toEqual(Array(2).fill('14 UNAVAILABLE: shutting down'));
  expect(server.log()).not.toContain('a call has failed');
  rmSync(data, { recursive: true });
});
