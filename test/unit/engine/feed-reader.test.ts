import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type ServerDuplexStream, Server, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, expect, it, vi } from 'vitest';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { WorkRequestSchema, WorkResponseSchema } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { createActiveExecutions } from '../../../engine/active-executions.js';
import { ExecutionLost } from '../../../engine/execution-lost.js';
import { FeedReader } from '../../../engine/feed/feed-reader.js';
import { createRetries } from '../../../engine/retries.js';
import { createWorkerPool } from '../../../engine/worker-pool.js';

const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };
const asIs = (bytes: Buffer): Buffer => bytes;

/** Called after each test: they stop servers and end walks. */
const closers: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  closers.splice(0).forEach((close) => close());
});

type Call = ServerDuplexStream<Buffer, Buffer>;

/**
 * Serves `EngineService.Work` and answers nothing by itself; `received` has the messages of all streams, `calls` the
 * streams.
 */
const silentServer = async () => {
  const received: Buffer[] = [];
  const calls: Call[] = [];
  const server = new Server();
  server.addService(
    {
      work: {
        path: '/platformidl.eventlog.EngineService/Work',
        requestStream: true,
        responseStream: true,
        requestSerialize: asIs,
        requestDeserialize: asIs,
        responseSerialize: asIs,
        responseDeserialize: asIs,
      },
    },
    {
      work: (call: Call) => {
        calls.push(call);
        call.on('data', (bytes: Buffer) => received.push(bytes));
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  closers.push(() => server.forceShutdown());
  return { endpoint: `127.0.0.1:${port}`, received, calls };
};

it('an engine that is stopped ends after 5 s, even when the server does not answer its `leave`', async () => {
  const { endpoint, received } = await silentServer();
  const stop = new AbortController();
  const active = createActiveExecutions();
  const walk = (): Promise<void> => Promise.resolve();
  const pool = { active, capacity: 1, walk, onEnd: () => undefined };
  const workers = createWorkerPool({ ...pool, retries: createRetries(logger) });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ended = new FeedReader({
    ...{ plane: { endpoint }, group: 'engines', name: 'one', workers, active, capacity: 1 },
    ...{ untilIdle: false, signal: stop.signal, logger },
  }).run();
  while (received.length === 0) await new Promise(setImmediate);
  stop.abort();
  while (received.length === 1) await new Promise(setImmediate); // until `leave` has come
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await ended).toBe('stopped');
});

const LEASE = { execution: { project: 'p', domain: 'd', name: 'run' }, number: 1n };

type Message = NonNullable<MessageInitShape<typeof WorkResponseSchema>['message']>;

const encoded = (message: Message): Buffer =>
  Buffer.from(toBinary(WorkResponseSchema, create(WorkResponseSchema, { message })));

it.each<[string, Message, string]>([
  [
    'has lost its lease',
    { case: 'update', value: { lease: LEASE, change: { case: 'lost', value: { cause: 'silent' } } } },
    'fenced: silent',
  ],
  [
    'has ended',
    { case: 'update', value: { lease: LEASE, change: { case: 'ended', value: { phase: Phase.ABORTED } } } },
    'ended: the execution has ended',
  ],
  [
    'is not among the leases of a new session',
    { case: 'joined', value: { session: 'two', leases: [] } },
    'fenced: the lease has ended',
  ],
])('the walk of an execution that %s is notified with the reason', async (_, update, reason) => {
  const { endpoint, calls } = await silentServer();
  const stop = new AbortController();
  const active = createActiveExecutions();
  const walk = (): Promise<void> => new Promise((resolve) => closers.push(resolve));
  const pool = { active, capacity: 1, walk, onEnd: () => undefined };
  const workers = createWorkerPool({ ...pool, retries: createRetries(logger) });
  const ended = new FeedReader({
    ...{ plane: { endpoint }, group: 'engines', name: 'one', workers, active, capacity: 1 },
    ...{ untilIdle: false, signal: stop.signal, logger },
  }).run();
  await vi.waitFor(() => expect(calls).toHaveLength(1));
  const [call] = calls;
  call!.write(encoded({ case: 'joined', value: { session: 'one', leases: [] } }));
  call!.write(encoded({ case: 'launch', value: { lease: LEASE, position: '7' } }));
  await vi.waitFor(() => expect(active.all.size).toBe(1));
  call!.write(encoded(update));
  await vi.waitFor(() => expect(active.all.get('p/d/run')?.lost?.message).toBe(reason));
  stop.abort();
  call!.end();
  expect(await ended).toBe('stopped');
});

it('an engine returns the lease of an execution that it has given up, and states its free place again', async () => {
  const { endpoint, received, calls } = await silentServer();
  const stop = new AbortController();
  const active = createActiveExecutions();
  const walk = (): Promise<void> => Promise.reject(new ExecutionLost('unknown', 'there is no such execution'));
  const pool = { active, capacity: 1, walk, onEnd: () => undefined };
  const workers = createWorkerPool({ ...pool, retries: createRetries(logger) });
  const ended = new FeedReader({
    ...{ plane: { endpoint }, group: 'engines', name: 'one', workers, active, capacity: 1 },
    ...{ untilIdle: false, signal: stop.signal, logger },
  }).run();
  await vi.waitFor(() => expect(calls).toHaveLength(1));
  const [call] = calls;
  const heartbeatInterval = { seconds: 60n }; // no heartbeat comes between the messages below
  call!.write(encoded({ case: 'joined', value: { session: 'one', leases: [], heartbeatInterval } }));
  call!.write(encoded({ case: 'launch', value: { lease: LEASE, position: '7' } }));
  await vi.waitFor(() => {
    const messages = received.map((bytes) => fromBinary(WorkRequestSchema, bytes).message);
    expect(messages.map((message) => message.case)).toEqual(['join', 'accept', 'return', 'places']);
    expect(messages[2]?.value).toMatchObject({ lease: LEASE, reason: 'unknown: there is no such execution' });
    expect(messages[3]?.value).toMatchObject({ free: 1 });
  });
  stop.abort();
  call!.end();
  expect(await ended).toBe('stopped');
});
