import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterEach, expect, it } from 'vitest';
import { SupportedMethodsSchema } from '../../proto/gen/event_store/client/server_features_pb.js';
import { ReadRespSchema } from '../../proto/gen/event_store/client/streams_pb.js';
import { frameOf } from '../../services/kernel/encoding/grpc-frame.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Answers a call with one message and the status OK. */
const respond = <Desc extends DescMessage>(
  stream: ServerHttp2Stream,
  schema: Desc,
  message: MessageInitShape<Desc>,
): void => {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(frameOf(toBinary(schema, create(schema, message))));
};

/** Starts a node that leaves the first reads unanswered, and answers later ones with the identity of a log. */
const startNode = async (unansweredReads: number): Promise<string> => {
  let reads = 0;
  const server = createServer();
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (!String(headers[':path']).endsWith('/Read')) {
      respond(stream, SupportedMethodsSchema, { eventStoreServerVersion: '23.10.6' });
      return;
    }
    reads += 1;
    if (reads <= unansweredReads) return;
    const event = {
      ...{ id: { value: { case: 'string', value: '6054e1b6-a09c-4771-9a39-c8dcdcd6545a' } } as const },
      ...{ streamIdentifier: { streamName: Buffer.from('flightlog-identity') }, commitPosition: 1n },
      metadata: { type: 'LogStarted', created: '0', 'content-type': 'application/json' },
      data: Buffer.from(JSON.stringify({ logId: 'the-log' })),
    };
    respond(stream, ReadRespSchema, { content: { case: 'event', value: { event } } });
  });
  server.on('session', (session) => closers.push(() => session.destroy()));
  closers.push(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `esdb://127.0.0.1:${(server.address() as AddressInfo).port}?tls=false`;
};

it('an event store that lost a call at the start, and answers all others, is opened by another attempt', async () => {
  const waitedFor: unknown[] = [];
  const onWait = (error?: unknown): Promise<void> => Promise.resolve(void waitedFor.push(error));
  const store = await eventstoreEventStore({ url: await startNode(1), onWait });
  expect(store.logId).toBe('the-log');
  expect(waitedFor.at(-1)).toMatchObject({ message: 'the event store has not answered for 9 s' });
  await store.close();
}, 20_000);
