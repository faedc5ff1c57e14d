import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ListReqSchema, PersistentSubscriptions } from '../../proto/gen/event_store/client/persistent_pb.js';
import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import { streamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore, renewEventstoreId } from '../../services/store/eventstore/eventstore-event-store.js';
import { groupCalls } from '../../services/store/eventstore/group-calls.js';
import { rpcPath } from '../../services/streams/eventstore/codec.js';
import { allEvents, newEvent } from '../support/streams/filled-log.js';
import { startFollower } from '../support/servers/follower.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { startForgetfulLog } from '../support/proxies/forgetful-log.js';
import { startProxy } from '../support/proxies/proxy.js';
import { startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const urlOf = (address: string, parameters = ''): string => `esdb://${address}?tls=false${parameters}`;
const event = () => newEvent('Counted', Buffer.from(randomUUID()));
const newStream = () => streamName('counted', [randomUUID()]);

const textsOf = async (store: EventStore, stream: ReturnType<typeof newStream>): Promise<string[]> => {
  const found: string[] = [];
  for await (const page of store.readStream(stream))
    found.push(...page.map(({ data }) => Buffer.from(data).toString()));
  return found;
};

describe('an event store that refuses calls, falls silent or gets a new log id', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-refusals-'));
  let log: LogServer;
  beforeAll(async () => {
    log = await startLogServer(join(directory, 'log'));
  });
  afterAll(async () => {
    await log.stop();
    rmSync(directory, { recursive: true });
  });

  it('is left for the leader that it names, and appends are sent there', async () => {
    const follower = await startFollower(log.address);
    const store = await eventstoreEventStore({ url: urlOf(follower.address) });
    const stream = newStream();
    const sent = Array.from({ length: 20 }, event);
    for (const [at, each] of sent.entries())
      await store.append(stream, at === 0 ? 'no-stream' : BigInt(at - 1), [each]);
    expect(await textsOf(store, stream)).toEqual(sent.map(({ data }) => Buffer.from(data).toString()));
    expect(follower.redirects()).toBeGreaterThan(0);
    await store.close();
    await follower.close();
  });

  it.each(['unary', 'bidirectional'] as const)(
    'is left for the leader that it names in the answer to a %s call about a consumer group',
    async (kind) => {
      const follower = await startFollower(log.address);
      const calls = groupCalls(urlOf(follower.address));
      const { list, read } = PersistentSubscriptions.method;
      const listOption = { case: 'listAllSubscriptions', value: {} } as const;
      const request = Buffer.from(toBinary(ListReqSchema, create(ListReqSchema, { options: { listOption } })));
      const asked = (): Promise<unknown> => calls.callUnary(rpcPath(list), request).catch((error: unknown) => error);
      if (kind === 'unary') expect(await asked()).toMatchObject({ details: 'Leader info available' });
      else {
        const call = await calls.open(rpcPath(read));
        call.write(request);
        expect((await once(call, 'error'))[0]).toMatchObject({ details: 'Leader info available' });
      }
      await expect.poll(asked, { timeout: 5_000 }).toBeInstanceOf(Buffer);
      await calls.close();
      await follower.close();
    },
  );

  it('cannot be opened for writing when it allows reads alone, and can be opened for reading', async () => {
    const reading = await startServerProcess({
      data: join(directory, 'reading'),
      args: ['--event-store', 'embedded:', '--eventstore-mode', 'read'],
    });
    const url = urlOf(reading.ready.eventstore!);
    const opening = eventstoreEventStore({ url, writes: true });
    await expect(opening).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(opening).rejects.toThrow(/denies access: .*cannot be appended to: .*--eventstore-mode write/u);
    const readers = await eventstoreEventStore({ url });
    expect(readers.logId).toBe(reading.ready.logId);
    await readers.close();
    await reading.stop();
  }, 60_000);

  it('cannot be opened when its version is older than 23.10', async () => {
    const old = await startForgetfulLog(log.address, '22.10.5');
    await expect(eventstoreEventStore({ url: urlOf(old.address) })).rejects.toThrow(
      'the event store has version 22.10.5; 23.10 or later is required',
    );
    await old.close();
  });

  it('is connected to again when its connection is silent, and has the append once', async () => {
    const proxy = await startProxy(log.address);
    const store = await eventstoreEventStore({
      url: urlOf(proxy.address, '&keepAliveInterval=500&keepAliveTimeout=500'),
    });
    const stream = newStream();
    const [first, second] = [event(), event()];
    await store.append(stream, 'no-stream', [first]);
    proxy.stallAnswers();
    expect((await store.append(stream, 0n, [second])).revision).toBe(1n);
    expect(await textsOf(store, stream)).toHaveLength(2);
    await store.close();
    await proxy.close();
  });

  /** Expects a subscription to get the events before and after its connections are harmed, each once and in order. */
  const expectDeliveredAgain = async (url: string, harm: () => void): Promise<void> => {
    const troubles: unknown[] = [];
    const store = await eventstoreEventStore({ url, onFailure: (error) => troubles.push(error) });
    const stream = newStream();
    const sent = Array.from({ length: 4 }, event);
    const direct = await eventstoreEventStore({ url: urlOf(log.address) });
    const append = async (at: number) => direct.append(stream, at === 0 ? 'no-stream' : BigInt(at - 1), [sent[at]!]);
    const delivered: string[] = [];
    const filter = { categories: ['counted'] };
    const subscription = store.subscribe({ after: await store.head(), filter }, ({ events }) => {
      delivered.push(...events.map(({ data }) => Buffer.from(data).toString()));
    });
    const untilDelivered = (count: number) =>
      until(
        () => Promise.resolve(delivered.length),
        (length) => length >= count,
      );
    await append(0);
    await untilDelivered(1);
    harm();
    await append(1);
    await append(2);
    await untilDelivered(3);
    await append(3);
    await untilDelivered(4);
    expect(delivered).toEqual(sent.map(({ data }) => Buffer.from(data).toString()));
    expect(troubles.length).toBeGreaterThan(0);
    await subscription.close();
    await store.close();
    await direct.close();
  };

  it('delivers further events after its connection was silent, each once', async () => {
    const proxy = await startProxy(log.address);
    await expectDeliveredAgain(urlOf(proxy.address, '&keepAliveInterval=500&keepAliveTimeout=500'), proxy.stallAnswers);
    await proxy.close();
  });

  it('is subscribed to again when it no longer answers a subscription over a live connection', async () => {
    const forgetful = await startForgetfulLog(log.address);
    await expectDeliveredAgain(urlOf(forgetful.address), forgetful.forget);
    await forgetful.close();
  }, 60_000);

  it('keeps all its events when it gets another log id, as a copy does', async () => {
    const url = urlOf(log.address);
    const store = await eventstoreEventStore({ url });
    await store.append(newStream(), 'no-stream', [event()]);
    const had = await allEvents(store);
    const { before, after } = await renewEventstoreId({ url }, true);
    expect(before).toBe(store.logId);
    const reopened = await eventstoreEventStore({ url });
    expect(reopened).toMatchObject({ logId: after, copyOf: before });
    expect(after).not.toBe(before);
    expect(await allEvents(reopened)).toEqual(had);
    await store.close();
    await reopened.close();
  });
});
