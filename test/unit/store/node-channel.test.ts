import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants, createSecureServer, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, expect, it } from 'vitest';
import { nodeChannel } from '../../../services/store/eventstore/nodes/channel.js';
import { nodeSettings } from '../../../services/store/eventstore/nodes/settings.js';
import { certificates } from '../../support/servers/certificates.js';

const CALLS = 30;
const issued = certificates();
issued.authority('ca');
issued.issue('ca', 'node');
afterAll(() => issued.remove());

const pem = (name: string): Buffer => readFileSync(issued.file(name));
const SERVERS: Readonly<Record<string, { make: () => Http2Server; parameters: string }>> = {
  'without TLS': { make: createServer, parameters: 'tls=false' },
  'with TLS': {
    make: () => createSecureServer({ key: pem('node.key'), cert: pem('node.pem') }),
    parameters: `tls=true&tlsCAFile=${issued.file('ca.pem')}`,
  },
};

/** Starts a node that takes the calls and then ends all of them together; returns its port. */
const endingNode = async (server: Http2Server): Promise<number> => {
  const taken: ServerHttp2Stream[] = [];
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    if (taken.push(stream) === CALLS) for (const each of taken) each.close(constants.NGHTTP2_CANCEL);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

const asIs = (bytes: Buffer): Buffer => bytes;

// Destroying the HTTP/2 session at the end of a call ends the process (nodejs/node issue 38964); destroying the socket
// of the session does not.
it.each(Object.keys(SERVERS))(
  'the end of a call can cut the channel on which other calls are ending, %s',
  async (name) => {
    const { make, parameters } = SERVERS[name]!;
    const server = make();
    const node = { host: '127.0.0.1', port: await endingNode(server) };
    const { channel, cut } = nodeChannel(node, nodeSettings(`esdb://${node.host}:${node.port}?${parameters}`));
    const client = new Client('', credentials.createInsecure(), { channelOverride: channel });
    const called = (): Promise<number | undefined> =>
      new Promise((resolve) => {
        client.makeUnaryRequest('/a/b', asIs, asIs, Buffer.alloc(100), (error: ServiceError | null) => {
          channel.close();
          cut();
          resolve(error?.code);
        });
      });
    const codes = await Promise.all(Array.from({ length: CALLS }, called));
    server.close();
    expect(codes.filter((code) => code !== status.CANCELLED && code !== status.UNAVAILABLE)).toEqual([]);
  },
);
