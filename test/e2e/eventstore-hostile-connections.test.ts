import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { binaryEvent, EventStoreDBClient, START, streamNameFilter } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AppendReqSchema,
  BatchAppendReqSchema,
  BatchAppendRespSchema,
  ReadReqSchema,
} from '../../proto/gen/event_store/client/streams_pb.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { callRaw, framed, openRaw } from '../support/clients/raw-call.js';
import { until } from '../support/until.js';

const STREAMS = '/event_store.client.streams.Streams';
const RPCS = ['Read', 'Append', 'BatchAppend', 'Delete', 'Tombstone'].map((name) => `${STREAMS}/${name}`);

const directory = mkdtempSync(join(tmpdir(), 'flightlog-hostile-connections-'));
const empty = {};
let server: LogServer;
let client: EventStoreDBClient;
let session: ClientHttp2Session;

beforeAll(async () => {
  server = await startLogServer(directory);
  client = EventStoreDBClient.connectionString(`esdb://${server.address}?tls=false&keepAliveInterval=-1`);
  session = connect(`http://${server.address}`);
});
afterAll(async () => {
  session.destroy();
  await client.dispose();
  await server.stop();
  rmSync(directory, { recursive: true });
});

const counted = async (items: AsyncIterable<unknown>): Promise<number> => {
  let count = 0;
  for await (const _ of items) count += 1;
  return count;
};

/** The memory of the server process, as the kernel counts it. */
const residentBytes = (): number => {
  const [, kB] = /^VmRSS:\s+(\d+)/mu.exec(readFileSync(`/proc/${server.child().pid}/status`, 'utf8')) ?? [];
  return Number(kB) * 1_024;
};

const event = (dataBytes = 10) => binaryEvent({ type: 'Counted', data: new Uint8Array(dataBytes) });

/** Expects that the server still serves well-behaved clients. */
const assertServes = async (stream: string): Promise<void> => {
  const { nextExpectedRevision } = await client.appendToStream(stream, [event(), event()]);
  expect(await counted(client.readStream(stream))).toBe(Number(nextExpectedRevision) + 1);
  expect(server.child().exitCode).toBeNull();
};

it.each([
  ...['StartScavenge', 'Shutdown', 'MergeIndexes', 'ResignNode'].map(
    (name) => `/event_store.client.operations.Operations/${name}`,
  ),
  '/event_store.client.users.Users/Create',
  '/event_store.client.projections.Projections/Create',
  '/event_store.client.monitoring.Monitoring/Stats',
  `${STREAMS}/read`,
  '/',
])('%s is UNIMPLEMENTED, whatever the body', async (path) => {
  for (const body of [Buffer.alloc(0), framed(Buffer.from('abc')), framed(Buffer.alloc(1_000), 0, 0xffffffff)])
    expect(await callRaw(session, path, { body })).toMatchObject({ code: 'UNIMPLEMENTED' });
});

describe.each(RPCS)('%s', (path) => {
  it.each([
    [
      'a frame with a stated length of 4 GiB',
      { body: framed(Buffer.from('abc'), 0, 0xffffffff) },
      'RESOURCE_EXHAUSTED',
    ],
    [
      'a compressed message of 64 MiB',
      { body: framed(gzipSync(Buffer.alloc(64 << 20)), 1), headers: { 'grpc-encoding': 'gzip' } },
      'RESOURCE_EXHAUSTED',
    ],
    [
      'an unknown compression',
      { body: framed(Buffer.from('abc'), 1), headers: { 'grpc-encoding': 'zip9' } },
      'UNIMPLEMENTED',
    ],
    ['a message flagged as compressed that is not', { body: framed(Buffer.from('abc'), 1) }, 'INVALID_ARGUMENT'],
    ['an unknown flag', { body: framed(Buffer.from('abc'), 77) }, 'INVALID_ARGUMENT'],
  ] as const)('refuses %s', async (_, call, code) => {
    expect((await callRaw(session, path, call)).code).toBe(code);
  });

  it.each([
    ['a header that is no text', { some: '\x80\xff' }],
    ['malformed credentials', { authorization: 'Basic !!!' }],
    ['a header of 50,000 bytes', { some: 'a'.repeat(50_000) }],
  ])('ignores %s, and refuses the message that it cannot decode', async (_, headers) => {
    const { code, message } = await callRaw(session, path, { body: framed(Buffer.from('abc')), headers });
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining('cannot decode')]);
  });

  it('refuses a body without a whole message, except the empty body of a stream of appends', async () => {
    for (const body of [Buffer.alloc(0), Buffer.from([0, 0, 0]), framed(Buffer.from('abc'), 0, 1_000)]) {
      const { code } = await callRaw(session, path, { body });
      expect(code).toBe(path.endsWith('/BatchAppend') && body.length === 0 ? 'OK' : 'INVALID_ARGUMENT');
    }
  });
});

const readOf = (options: MessageInitShape<typeof ReadReqSchema>['options']): Buffer =>
  framed(toBinary(ReadReqSchema, create(ReadReqSchema, { ...(options && { options }) })));

/** The request that follows a stream from its start without end. */
const following = (stream: string): Buffer =>
  readOf({
    streamOption: {
      case: 'stream',
      value: {
        streamIdentifier: { streamName: Buffer.from(stream) },
        revisionOption: { case: 'start', value: empty },
      },
    },
    countOption: { case: 'subscription', value: empty },
    filterOption: { case: 'noFilter', value: empty },
    uuidOption: { content: { case: 'string', value: empty } },
  });

it('a log server writes nothing of an append whose deadline has passed when it arrives', async () => {
  const request = create(BatchAppendReqSchema, {
    correlationId: { value: { case: 'string', value: '01234567-89ab-cdef-0123-456789abcdef' } },
    options: {
      streamIdentifier: { streamName: Buffer.from('late-1') },
      expectedStreamPosition: { case: 'any', value: empty },
      deadlineOption: { case: 'deadline', value: { seconds: -1n } },
    },
    proposedMessages: [
      {
        id: { value: { case: 'string', value: '01234567-89ab-cdef-0123-456789abcdef' } },
        metadata: { type: 'Late', 'content-type': 'application/octet-stream' },
      },
    ],
    isFinal: true,
  });
  const { messages } = await callRaw(session, `${STREAMS}/BatchAppend`, {
    body: framed(toBinary(BatchAppendReqSchema, request)),
  });
  const { result } = fromBinary(BatchAppendRespSchema, messages[0]!);
  expect(result.case === 'error' && status[result.value.code]).toBe('DEADLINE_EXCEEDED');
  await expect(counted(client.readStream('late-1'))).rejects.toThrow(/late-1/u);
});

it('a log server serves other clients while it runs a slow regular expression', async () => {
  const name = 'a'.repeat(1_000);
  await Promise.all(Array.from({ length: 600 }, (_, at) => client.appendToStream(`${name}${at}`, event())));
  await client.appendToStream('others-1', event());
  const state = { isOver: false };
  const slow = new Promise<number>((resolve, reject) => {
    let seen = 0;
    const filter = streamNameFilter({ regex: '^(?!(.*a){25}$)' }); // tries many ways to match a name of many `a`s
    const subscription = client.subscribeToAll({ fromPosition: START, filter });
    subscription.on('data', () => (seen += 1));
    subscription.on('error', reject);
    subscription.on('caughtUp', () => void subscription.unsubscribe().then(() => resolve(seen)));
  }).finally(() => (state.isOver = true));
  let reads = 0;
  while (!state.isOver) reads += await counted(client.readStream('others-1'));
  expect(await slow).toBeGreaterThan(0);
  expect(reads).toBeGreaterThan(5);
});

it('a log server needs less than 1 GB more for 60 subscriptions whose clients do not read', async () => {
  for (let i = 0; i < 100; i++) await client.appendToStream('large-1', event(900_000));
  const before = residentBytes();
  const sessions = Array.from({ length: 4 }, () => connect(`http://${server.address}`));
  const subscriptions = sessions.flatMap((each) =>
    Array.from({ length: 15 }, () => openRaw(each, `${STREAMS}/Read`).end(following('large-1'))),
  );
  for (const each of subscriptions) each.on('readable', () => undefined); // Node receives the first bytes, and no more
  await until(
    () => Promise.resolve(subscriptions.filter(({ readableLength }) => readableLength < 10_000).length),
    (without) => without === 0,
  );
  await assertServes('beside-readers-1');
  // If the server buffered all events for a subscription, each of the 60 would take 90 MB.
  expect(residentBytes() - before).toBeLessThan(1_000_000_000);
  for (const each of sessions) each.destroy();
}, 300_000);

it('a log server keeps serving, with less than 500 MB more, after a thousand calls of each RPC were opened and cancelled', async () => {
  const before = residentBytes();
  for (const path of RPCS) {
    const flood = connect(`http://${server.address}`);
    const calls = Array.from({ length: 1_000 }, () => openRaw(flood, path));
    for (const [at, call] of calls.entries()) {
      call.on('error', () => undefined);
      call.write(at % 2 ? following('any-1') : Buffer.from([0, 0, 0, 1])); // a whole message, or a part of a frame
    }
    await once(calls[0]!, 'ready');
    for (const call of calls) call.close(constants.NGHTTP2_CANCEL);
    flood.destroy();
  }
  await assertServes('after-flood-1');
  expect(residentBytes() - before).toBeLessThan(500_000_000);
}, 300_000);

it('a log server keeps serving beside appends that are never finished', async () => {
  const half = connect(`http://${server.address}`);
  const options = create(AppendReqSchema, {
    content: {
      case: 'options',
      value: {
        streamIdentifier: { streamName: Buffer.from('half-1') },
        expectedStreamRevision: { case: 'any', value: empty },
      },
    },
  });
  for (let i = 0; i < 100; i++) {
    const call = openRaw(half, `${STREAMS}/Append`);
    call.on('error', () => undefined);
    call.write(Buffer.concat([framed(toBinary(AppendReqSchema, options)), framed(Buffer.alloc(100), 0, 1_000)]));
  }
  await assertServes('beside-halves-1');
  half.destroy();
  await expect(counted(client.readStream('half-1'))).rejects.toThrow(/half-1/u);
});

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
/**
 * Frames of HTTP/2, of which each character is a byte: the length of the payload (3 bytes), the type, flags, the stream
 * (4 bytes), and the payload.
 */
const EMPTY_SETTINGS = '\x00\x00\x00\x04\x00\x00\x00\x00\x00';
const PING = `\x00\x00\x08\x06\x00\x00\x00\x00\x00${'\x00'.repeat(7)}\x01`;
const CONTINUATION = '\x00\x00\x01\x09\x00\x00\x00\x00\x01\x82';

it.each([
  ['nothing at all', ''],
  ['a request of HTTP/1.1', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['a preface that is cut', PREFACE.slice(0, 11)],
  ['noise after the preface', `${PREFACE}\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff`],
  ['a SETTINGS frame that is too long', `${PREFACE}\x00\xff\xff\x04\x00\x00\x00\x00\x00`],
  ['a frame of a stream that is not open', `${PREFACE}${EMPTY_SETTINGS}\x00\x00\x01\x00\x00\x00\x00\x00\x09a`],
  ['headers that cannot be decoded', `${PREFACE}${EMPTY_SETTINGS}\x00\x00\x04\x01\x04\x00\x00\x00\x01\xff\xff\xff\xff`],
  [
    'a header block that does not end',
    `${PREFACE}${EMPTY_SETTINGS}\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82${CONTINUATION.repeat(5_000)}`,
  ],
  ['a thousand pings', `${PREFACE}${EMPTY_SETTINGS}${PING.repeat(1_000)}`],
])('a log server keeps serving beside 20 connections with %s', async (_, bytes) => {
  const [host = '', port = ''] = server.address.split(':');
  const sockets = Array.from({ length: 20 }, () => connectSocket(Number(port), host));
  for (const socket of sockets) socket.on('error', () => undefined).resume();
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.write(Buffer.from(bytes, 'latin1'), resolve))),
  );
  await assertServes('after-noise-1');
  for (const socket of sockets) socket.destroy();
});

it('a log server has as many events after a restart as before', async () => {
  const events = await counted(client.readAll());
  await server.restart();
  await client.dispose();
  client = EventStoreDBClient.connectionString(`esdb://${server.address}?tls=false&keepAliveInterval=-1`);
  expect(
    await until(
      () => counted(client.readAll()),
      (found) => found === events,
    ),
  ).toBe(events);
});
