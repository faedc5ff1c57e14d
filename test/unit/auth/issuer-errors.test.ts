import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { allowInsecureRequests, authorizationCodeGrant, Configuration, None } from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { isIssuerAway } from '../../../services/auth/issuer-errors.js';

let server: Server;
let issuer: string;
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

/** True when the issuer counts as away after this answer to a code. */
const isAwayAfter = async (answering: typeof answer): Promise<boolean> => {
  answer = answering;
  const configuration = new Configuration({ issuer, token_endpoint: `${issuer}/token` }, 'id', {}, None());
  allowInsecureRequests(configuration);
  const exchange = authorizationCodeGrant(configuration, new URL(`${issuer}/callback?code=a`), {
    pkceCodeVerifier: 'v',
  });
  return exchange.then(() => false, isIssuerAway);
};

const json = (status: number, body: object) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

describe('an issuer', () => {
  it.each([
    [
      'cuts the connection off within its answer',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
        response.write('{"access', () => response.destroy());
      },
    ],
    ['cuts the connection off before', (response: ServerResponse) => void response.destroy()],
    ['has a failed proxy', (response: ServerResponse) => response.writeHead(502).end('bad gateway')],
    ['is asked too often', json(429, { error: 'temporarily_unavailable' })],
    ['is asked too often, by its proxy', (response: ServerResponse) => response.writeHead(429).end('slow down')],
  ])('that %s is away', async (_what, answering) => expect(await isAwayAfter(answering)).toBe(true));

  it('that refuses a code is not away', async () => {
    expect(await isAwayAfter(json(400, { error: 'invalid_grant' }))).toBe(false);
  });
});
