import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';

import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openChannel } from '../../../engine/control-plane.js';
import { grpcTransport } from '../../../services/cli/client/connection/grpc.js';
import type { Profile } from '../../../services/cli/client/connection/profile.js';
import { profileIn } from '../../../services/cli/client/connection/profile-file.js';
import { GetVersionRequestSchema } from '../../../proto/gen/platformidl/admin/version_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { certificates } from '../../support/servers/certificates.js';

const METHOD = AdminService.method.getVersion;
const made = certificates();
const EMPTY = create(GetVersionRequestSchema);

/** The server names that clients have sent; they send `localhost` in place of an address. */
const names: string[] = [];
let server: ReturnType<typeof createSecureServer>;
let port = 0;

beforeAll(async () => {
  made.authority('ours');
  made.issue('ours', 'server');
  server = createSecureServer({
    cert: readFileSync(made.file('server.pem')),
    key: readFileSync(made.file('server.key')),
    SNICallback: (name, done) => {
      names.push(name);
      done(null);
    },
  });
  server.on('stream', (stream) => {
    stream.on('error', () => undefined).respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5)); // an empty message
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
beforeEach(() => void (names.length = 0));
afterAll(() => {
  server.close();
  made.remove();
});

/** Calls the server under this host name or address, as a command does. */
const byCommand = async (host: string): Promise<void> => {
  const text = ['admin:', `endpoint: dns:///${host}:${port}`, `caCertFilePath: ${made.file('ours.pem')}`].join('\n  ');
  const transport = grpcTransport(profileIn(text, 'config.yaml') as Profile & { address: { kind: 'grpc' } });
  try {
    await transport.call(METHOD, EMPTY, {});
  } finally {
    transport.close();
  }
};

/** Calls the server under this host name or address, as an engine does. */
const byEngine = async (host: string): Promise<void> => {
  const client = openChannel({ endpoint: `${host}:${port}`, tls: { ca: readFileSync(made.file('ours.pem')) } });
  try {
    await new Promise<void>((resolve, reject) => {
      client.makeUnaryRequest(
        `/${METHOD.parent.typeName}/${METHOD.name}`,
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes,
        Buffer.from(toBinary(GetVersionRequestSchema, EMPTY)),
        { deadline: Date.now() + 10_000 },
        (error) => (error ? reject(error) : resolve()),
      );
    });
  } finally {
    client.close();
  }
};

describe.each([
  ['a command', byCommand],
  ['an engine', byEngine],
])('a server with TLS that %s calls', (_, call) => {
  it('may be named by its address, which is not sent as a server name', async () => {
    await call('127.0.0.1');
    await call('localhost');
    expect(names).toEqual(['localhost', 'localhost']);
  });

  it('must have a certificate for the address that it is named by', async () => {
    await expect(call('127.0.0.2')).rejects.toThrow();
    expect(names).toEqual(['localhost']);
  });
});
