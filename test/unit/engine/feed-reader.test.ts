import { type ServerDuplexStream, Server, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, expect, it, vi } from 'vitest';
import { createActiveExecutions } from '../../../engine/active-executions.js';
import { FeedReader } from '../../../engine/feed/feed-reader.js';
import { createRetries } from '../../../engine/retries.js';
import { createWorkerPool } from '../../../engine/worker-pool.js';

const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };
const asIs = (bytes: Buffer): Buffer => bytes;

const open: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  open.splice(0).forEach((close) => close());
});

/** Serves `EngineService.Work` without ever answering; `received` has the messages of all streams. */
const silentServer = async (): Promise<{ readonly endpoint: string; readonly received: Buffer[] }> => {
  const received: Buffer[] = [];
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
      work: (call: ServerDuplexStream<Buffer, Buffer>) => void call.on('data', (bytes: Buffer) => received.push(bytes)),
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  open.push(() => server.forceShutdown());
  return { endpoint: `127.0.0.1:${port}`, received };
};

it('an engine that is stopped ends, even when the server does not answer that it leaves', async () => {
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
  while (received.length === 1) await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await ended).toBe('stopped');
});
