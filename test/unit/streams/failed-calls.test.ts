import { once } from 'node:events';

import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { serveEncoded } from '../../../services/gateway/grpc/encoded.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { failedCall, StreamTombstoned } from '../../../services/streams/eventstore/failure.js';

const PATH = '/event_store.client.streams.Streams/Read';

let server: Awaited<ReturnType<typeof serveEncoded>>;
let client: Client;
let thrown: Error;

beforeAll(async () => {
  server = await serveEncoded({
    ...{ protocol: 'EventStoreDB protocol', host: '127.0.0.1', port: 0, maxMessageBytes: 1_000 },
    handlers: new Map([[PATH, () => Promise.reject(thrown)]]),
    statusOf: (error, path) => failedCall({ error: () => undefined }, path, error),
  });
  client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
});
afterAll(async () => {
  client.close();
  await server.close({ drainMs: 0 });
});

/** The error that a client gets of a call whose handler fails. */
const failure = async (error: Error): Promise<ServiceError> => {
  thrown = error;
  const call = client.makeServerStreamRequest(
    PATH,
    (bytes: Buffer) => bytes,
    (bytes: Buffer) => bytes,
    Buffer.alloc(0),
  );
  const [received] = (await once(call.resume(), 'error').catch((reason: unknown) => [reason])) as [ServiceError];
  return received;
};

it.each(['läufe-1', '100%', 'a%20b'])(
  'the text of a failed call has the name %s of a stream as it is',
  async (name) => {
    expect((await failure(new StreamTombstoned(name))).details).toBe(`stream ${name} is deleted`);
  },
);

it('a failed call ends also when half of a character was cut off its text', async () => {
  expect((await failure(new RpcError('NOT_FOUND', 'no a\ud83d'))).details).toBe('no a\ufffd');
});

it.each(['x', '時'])(
  'a failed call has the beginning of a text that is too long for a trailer (%s)',
  async (letter) => {
    const { code, details } = await failure(new RpcError('NOT_FOUND', letter.repeat(100_000)));
    expect(code).toBe(status.NOT_FOUND);
    expect(details).toMatch(new RegExp(`^${letter}{500,}…$`, 'u'));
    expect(encodeURI(details).length).toBeLessThan(8_000);
  },
);
