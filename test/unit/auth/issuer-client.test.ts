import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { externalIssuer } from '../../../services/auth/browser/issuer-client.js';

const MINUTE_MS = 60_000;
let server: Server;
let issuer: string;
let isAway = false;
let asked = 0;

beforeAll(async () => {
  server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(isAway ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ issuer, authorization_endpoint: `${issuer}/authorize` }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

it('an issuer that is away is asked for its metadata once a minute, and the last ones are used', async () => {
  const clock = { now: 0 };
  const client = { issuer, clientId: 'console', clientSecret: '', scope: 'openid', audience: '' };
  const external = externalIssuer(client, () => clock.now);
  const ask = () => external.configuration('');
  const metadata = await ask();
  clock.now += 10 * MINUTE_MS;
  [isAway, asked] = [true, 0];
  expect([await ask(), await ask()]).toEqual([metadata, metadata]);
  expect(asked).toBe(1);
  clock.now += MINUTE_MS;
  [isAway, asked] = [false, 0];
  expect(await ask()).not.toBe(metadata);
  await ask();
  expect(asked).toBe(1);
});
