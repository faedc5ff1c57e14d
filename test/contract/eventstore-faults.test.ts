import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EventStore } from '../../services/kernel/ports/event-store.js';
import type { NewEvent } from '../../services/kernel/event.js';
import { CorruptEvent, OutcomeUnknown, RevisionConflict, StoreUnavailable } from '../../services/kernel/fault.js';
import { sha256 } from '../../services/kernel/encoding/hash.js';
import { streamName, type StreamName } from '../../services/kernel/stream.js';
import { type OpenSessions, openSessions } from '../../services/sessions/sessions.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { type Proxy, startProxy } from '../support/proxies/proxy.js';
import { purse } from '../support/streams/purse.js';

const event = (text: string = randomUUID()): NewEvent => ({
  id: sha256(text).subarray(0, 16),
  type: 'Counted',
  data: Buffer.from(text),
  metadata: JSON.stringify({ recordedAtMs: 1, actor: '', commandId: text, schema: 1 }),
});

const textsOf = async (store: EventStore, stream: StreamName): Promise<string[]> => {
  const found: string[] = [];
  for await (const page of store.readStream(stream))
    found.push(...page.map(({ data }) => Buffer.from(data).toString()));
  return found;
};

const urlOf = (address: string): string => `esdb://${address}?tls=false&keepAliveInterval=10000`;

/** Ignores the failure of a command whose events were not sent, as when no node is found. */
const ignoreUnavailable = (error: unknown): undefined => {
  if (!(error instanceof StoreUnavailable)) throw error;
};

describe('the log in an event store that cannot always be reached', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-faults-'));
  let server: LogServer;
  let proxy: Proxy;
  let store: EventStore;
  const troubles: unknown[] = [];

  const newStream = (): StreamName => streamName('counted', [randomUUID()]);

  beforeAll(async () => {
    server = await startLogServer(directory);
    proxy = await startProxy(server.address);
    store = await eventstoreEventStore({ url: urlOf(proxy.address), onFailure: (error) => troubles.push(error) });
  });
  afterAll(async () => {
    await store.close();
    await proxy.close();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  it('has an append once when its answer was lost', async () => {
    const stream = newStream();
    const lost = event();
    await store.append(stream, 'no-stream', [event('first-' + stream)]);
    proxy.stallAnswers();
    const appended = store.append(stream, 0n, [lost]);
    // The event is written behind the proxy; only the answer is missing.
    const direct = EventStoreDBClient.connectionString(urlOf(server.address));
    for (let written = 0; written < 2;) {
      written = 0;
      for await (const each of direct.readStream(stream)) written += each.event === undefined ? 0 : 1;
    }
    await direct.dispose();
    proxy.cut();
    expect((await appended).revision).toBe(1n);
    expect(await textsOf(store, stream)).toEqual(['first-' + stream, lost.data.toString()]);
  });

  it('is appended to by a process whose clock is an hour behind', async () => {
    const stream = newStream();
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
    try {
      expect((await store.append(stream, 'no-stream', [event('late')])).revision).toBe(0n);
    } finally {
      clock.mockRestore();
    }
    expect(await textsOf(store, stream)).toEqual(['late']);
  });

  it('loses and doubles nothing when connections break under load', async () => {
    const streams = Array.from({ length: 8 }, newStream);
    const sent = streams.map((): NewEvent[] => []);
    let cuts = 0;
    const cutting = setInterval(() => {
      cuts += 1;
      proxy.cut();
    }, 700);
    const fill = async (stream: StreamName, events: NewEvent[]): Promise<void> => {
      while (cuts < 5) {
        const each = event();
        await store.append(stream, events.length === 0 ? 'no-stream' : BigInt(events.length - 1), [each]);
        events.push(each);
      }
    };
    await Promise.all(streams.map((stream, at) => fill(stream, sent[at]!))).finally(() => clearInterval(cutting));
    for (const [at, stream] of streams.entries())
      expect(await textsOf(store, stream)).toEqual(sent[at]!.map(({ data }) => data.toString()));
  });

  it('has each acknowledged command of two processes once, at the answered revision, although answers are lost', async () => {
    const streams = Array.from({ length: 3 }, () => streamName('purse', [randomUUID()]));
    const payloads = filePayloadStore({ directory });
    const second = await eventstoreEventStore({ url: urlOf(proxy.address) });
    const processes = [store, second].map((over) =>
      openSessions({ store: over, payloads, now: () => 1, isShared: true }),
    );
    const answered = new Map<string, { readonly stream: StreamName; readonly revision: bigint }>();
    let breaks = 0;
    const breaking = setInterval(() => {
      if ((breaks += 1) % 2 === 1) proxy.stallAnswers();
      else proxy.cut();
    }, 400);
    const report = async (sessions: OpenSessions, stream: StreamName): Promise<void> => {
      while (breaks < 8) {
        const commandId = randomUUID();
        const command = { kind: 'write', bytes: Buffer.from(commandId) } as const;
        const context = { actor: '', commandId };
        const outcome = await sessions.handle(purse, stream, command, context).catch(ignoreUnavailable);
        if (outcome?.kind === 'accepted')
          answered.set(commandId.replaceAll('-', ''), { stream, revision: outcome.revision });
      }
    };
    const reporting = processes.flatMap((sessions) =>
      streams.flatMap((stream) => [1, 2, 3, 4].map(() => report(sessions, stream))),
    );
    await Promise.all(reporting).finally(() => clearInterval(breaking));
    proxy.cut();
    const found = new Map<string, { readonly stream: StreamName; readonly revision: bigint }>();
    for (const stream of streams)
      for await (const page of store.readStream(stream))
        for (const { id, revision } of page) {
          const key = Buffer.from(id).toString('hex');
          expect(found.has(key)).toBe(false);
          found.set(key, { stream, revision });
        }
    expect(answered.size).toBeGreaterThan(reporting.length);
    expect(found).toEqual(answered);
    await second.close();
    await payloads.close();
  });

  it('goes on delivering events after the server was killed, each once', async () => {
    const stream = newStream();
    const seen: string[] = [];
    let check = (): void => undefined;
    const subscription = store.subscribe(
      { after: await store.head(), filter: { categories: ['counted'] } },
      ({ events }) => {
        seen.push(...events.filter((each) => each.stream === stream).map(({ data }) => Buffer.from(data).toString()));
        check();
      },
    );
    const until = (count: number): Promise<void> =>
      new Promise((resolve) => {
        check = () => seen.length >= count && resolve();
        check();
      });
    await store.append(stream, 'no-stream', [event('one')]);
    await until(1);
    const before = troubles.length;
    await server.restart();
    await store.append(stream, 0n, [event('two')]);
    await store.append(stream, 1n, [event('three')]);
    await until(3);
    expect(seen).toEqual(['one', 'two', 'three']);
    expect(troubles.length).toBeGreaterThan(before);
    await subscription.close();
  });

  it('fails an append while it cannot be reached, and accepts one afterwards', async () => {
    const stream = newStream();
    proxy.shut();
    await expect(store.append(stream, 'no-stream', [event()])).rejects.toSatisfy(
      (fault) => fault instanceof StoreUnavailable || fault instanceof OutcomeUnknown,
    );
    proxy.open();
    expect((await store.append(stream, 'no-stream', [event()])).revision).toBe(0n);
    expect(await textsOf(store, stream)).toHaveLength(1);
  });

  it('fails an append with RevisionConflict when the stream is not at the expected revision', async () => {
    const stream = newStream();
    await store.append(stream, 'no-stream', [event()]);
    await expect(store.append(stream, 'no-stream', [event()])).rejects.toBeInstanceOf(RevisionConflict);
  });

  it('fails with CorruptEvent for a stream that an operator has deleted', async () => {
    const stream = newStream();
    await store.append(stream, 'no-stream', [event()]);
    const operator = EventStoreDBClient.connectionString(urlOf(server.address));
    await operator.tombstoneStream(stream);
    await operator.dispose();
    await expect(textsOf(store, stream)).rejects.toBeInstanceOf(CorruptEvent);
    await expect(store.append(stream, 0n, [event()])).rejects.toBeInstanceOf(CorruptEvent);
  });

  it('reads events that other applications have written as they are', async () => {
    const stream = newStream();
    const application = EventStoreDBClient.connectionString(urlOf(server.address));
    await application.appendToStream(stream, jsonEvent({ type: 'Foreign', data: { any: 'thing' } }));
    await application.dispose();
    expect(await textsOf(store, stream)).toEqual(['{"any":"thing"}']);
  });

  it('waits, when it is opened, for a server that cannot be reached', async () => {
    proxy.shut();
    const troubled: unknown[] = [];
    const opening = eventstoreEventStore({
      url: urlOf(proxy.address),
      onFailure: (error) => {
        troubled.push(error);
        proxy.open();
      },
    });
    const opened = await opening;
    expect(troubled.length).toBeGreaterThan(0);
    expect(opened.logId).toBe(store.logId);
    await opened.close();
  });
});
