import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { create } from '@bufbuild/protobuf';
import { afterEach, expect, it, vi } from 'vitest';

import {
  OAuth2MetadataResponseSchema,
  PublicClientAuthConfigResponseSchema,
} from '../../../proto/gen/platformidl/service/auth_pb.js';
import type { Transport } from '../../../services/cli/client/connection/connection.js';
import { profileOf } from '../../../services/cli/client/connection/profile-of.js';
import { byCredentials } from '../../../services/cli/client/sign-in/by-credentials.js';

let server: Server;
afterEach(() => {
  server.close();
  server.closeAllConnections();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

it.each<[string, RequestListener]>([
  ['has not begun', () => undefined],
  ['has begun and does not end', (_, response) => response.writeHead(200).write('{')],
])('an answer of the issuer that %s is reported with the address and the time', async (_, listener) => {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tokenUrl = `http://127.0.0.1:${(server.address() as { port: number }).port}/token`;
  // Time limits end after a fiftieth of their time.
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 50));
  vi.stubEnv('SECRET', 'secret');
  const metadata = [create(OAuth2MetadataResponseSchema), create(PublicClientAuthConfigResponseSchema)];
  const transport = { call: () => Promise.resolve(metadata.shift()) } as unknown as Transport;
  const client = { kind: 'client-credentials', clientId: 'c', secretVariable: 'SECRET', scopes: [], tokenUrl } as const;
  await expect(byCredentials(client, profileOf({ server: tokenUrl }, {}), transport)).rejects.toMatchObject({
    message: `${tokenUrl} gives no token: no complete answer within 10 s`,
  });
});
