import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { authorizationServer } from '../../../services/auth/server/authorization-server.js';
import { clientsFile, clientsOf } from '../../../services/auth/server/clients.js';
import { usersFile, usersOf } from '../../../services/auth/users/users.js';
import { sqliteAuthorizationState } from '../../../services/store/authorization/sqlite-authorization-state.js';

// A process that serves an authorization server alone, because it starts much faster than `flightlog serve`. It prints
// its port when it is ready. Its clock is `passedMs` ahead, so that it finds its keys old.
const [directory = '', issuer = '', passedMs = '0'] = process.argv.slice(2);

const ROTATE_KEYS_AFTER_MS = 86_400_000; // a day

const server = authorizationServer({
  issuer,
  state: sqliteAuthorizationState(directory),
  users: usersOf(usersFile(join(directory, 'users.json'))),
  clients: clientsOf(clientsFile(join(directory, 'clients.json')), new Map()),
  lifetimes: { accessSeconds: 600, refreshSeconds: 3_600 },
  rotateKeysAfterMs: ROTATE_KEYS_AFTER_MS,
  failuresPerMinute: 1_000_000, // no limit that a test reaches
  isBehindProxy: false,
  onError: ({ message }) => process.stderr.write(`${message}\n`),
  now: () => Date.now() + Number(passedMs),
});
await server.listensAt(issuer);
const http = createServer((request, response) => void server.answer(request, response)).listen(0, '127.0.0.1');
await once(http, 'listening');
process.stdout.write(`${(http.address() as AddressInfo).port}\n`);
