import { type Metadata, Server, ServerCredentials, type sendUnaryData, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { CallError, EngineStopped } from '../../../engine/call-error.js';
import { createClient, type InterfaceClient, readingFrom } from '../../../engine/client.js';
import { startProxy } from '../../support/proxies/proxy.js';

const { createNodeEvent } = AdminService.method;
const PATH = '/platformidl.service.AdminService/CreateNodeEvent';

/** Answers one request. */
type Reply = (answer: sendUnaryData<Buffer>) => void;

/** Clients and servers, which are closed after each test. */
const open: { close: () => void }[] = [];
afterEach(() => open.splice(0).forEach((each) => each.close()));

type Served = { port: number; received: Buffer[]; positions: unknown[]; kill: () => void };

/**
 * Serves `CreateNodeEvent` with the given replies in turn, then accepts each request. Records the requests, and the
 * positions in their header `flightlog-min-position`.
 */
const serve = async (replies: Reply[], port = 0): Promise<Served> => {
  const received: Buffer[] = [];
  const positions: unknown[] = [];
  const server = new Server();
  const asIs = (bytes: Buffer): Buffer => bytes;
  const definition = {
    path: PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  server.addService(
    { createNodeEvent: definition },
    {
      createNodeEvent: (
        call: { readonly request: Buffer; readonly metadata: Metadata },
        answer: sendUnaryData<Buffer>,
      ) => {
        received.push(call.request);
        positions.push(...call.metadata.get('flightlog-min-position'));
        const reply = replies.shift() ?? ok;
        reply(answer);
      },
    },
  );
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, found) => {
      if (error) reject(error);
      else resolve(found);
    });
  });
  const kill = (): void => server.forceShutdown();
  open.push({ close: kill });
  return { port: bound, received, positions, kill };
};

const ok: Reply = (answer) => answer(null, Buffer.alloc(0));
const refuse =
  (code: status, details: string): Reply =>
  (answer) =>
    answer({ code, details });

const connect = (port: number, signal = new AbortController().signal): InterfaceClient => {
  const client = createClient({ endpoint: `127.0.0.1:${port}`, concurrency: 4, signal });
  open.push(client);
  return client;
};

const BYTES = Buffer.from('one event');

describe('the client', () => {
  it('repeats the same bytes until they are accepted, and gives the number of repetitions', async () => {
    const { port, received } = await serve([
      refuse(status.UNAVAILABLE, 'busy'),
      refuse(status.RESOURCE_EXHAUSTED, 'slow down'),
      ok,
    ]);
    expect(await connect(port).send(createNodeEvent, BYTES)).toBe(2);
    expect(received).toEqual([BYTES, BYTES, BYTES]);
  });

  it('repeats a request when the server is killed before its answer and starts again on the same port', async () => {
    const first: Served = await serve([() => first.kill()]);
    const client = connect(first.port);
    const sent = client.send(createNodeEvent, BYTES);
    while (first.received.length === 0) await new Promise(setImmediate);
    const second = await serve([ok], first.port);
    expect(await sent).toBeGreaterThan(0);
    expect(second.received).toEqual([BYTES]);
  });

  it('sends a request over another connection when its connection is silent, as after the loss of the host', async () => {
    const { port, received } = await serve([ok, () => undefined]);
    const proxy = await startProxy(`127.0.0.1:${port}`);
    const { signal } = new AbortController();
    const client = createClient({ endpoint: proxy.address, concurrency: 1, signal, checkMs: 100 });
    open.push(client);
    await client.send(createNodeEvent, BYTES);
    proxy.stallAnswers();
    expect(await client.send(createNodeEvent, BYTES)).toBeGreaterThan(0);
    expect(received.length).toBeGreaterThan(2);
    await proxy.close();
  });

  it('does not repeat a request that is larger than the server accepts', async () => {
    const { port, received } = await serve([refuse(status.RESOURCE_EXHAUSTED, 'message larger than max (5 vs. 4)')]);
    await expect(connect(port).send(createNodeEvent, BYTES)).rejects.toBeInstanceOf(CallError);
    expect(received).toHaveLength(1);
  });

  it('sends the position that a read must reflect with each try of that read, and with no other call', async () => {
    const { port, positions } = await serve([ok, refuse(status.UNAVAILABLE, 'behind'), ok]);
    const client = connect(port);
    await client.call(createNodeEvent, {});
    await readingFrom(client, 'log.7').call(createNodeEvent, {});
    expect(positions).toEqual(['log.7', 'log.7']);
  });

  it('gives up a call in flight when it is stopped', async () => {
    const { port, received } = await serve([() => undefined]);
    const stop = new AbortController();
    const sent = connect(port, stop.signal).send(createNodeEvent, BYTES);
    while (received.length === 0) await new Promise(setImmediate);
    stop.abort();
    await expect(sent).rejects.toBeInstanceOf(EngineStopped);
  });
});
