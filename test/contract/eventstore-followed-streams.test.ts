import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReadRespSchema } from '../../proto/gen/event_store/client/streams_pb.js';
import type { EventStore } from '../../services/kernel/ports/event-store.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { openSubscription } from '../../services/streams/eventstore/read/subscribe.js';
import { storedForm } from '../../services/streams/eventstore/recorded.js';
import { noStreamRules } from '../../services/streams/eventstore/stream-rules.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { newEvent } from '../support/streams/filled-log.js';

const event = () => newEvent('Counted', Buffer.from('{}'));

describe('a subscription to one stream of an event store', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-followed-'));
  let server: LogServer;
  let store: EventStore;

  beforeAll(async () => {
    server = await startLogServer(directory);
    store = await eventstoreEventStore({ url: `esdb://${server.address}?tls=false` });
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  it.each([
    ['a stream with a category', `orders-${randomUUID()}`],
    ['a stream without a category, as its name has no dash', `orders${randomUUID().replaceAll('-', '')}`],
  ])('has the events that are appended after its history was read and before it is live: %s', async (_, name) => {
    const stream = name as StreamName;
    await store.append(stream, 'no-stream', [event()]);
    const log = Object.assign(Object.create(store) as EventStore, {
      subscribe: (...asked: Parameters<EventStore['subscribe']>) => {
        // The history has been read. This event is in the log before the subscription looks for the end of the log.
        const subscribed = store.append(stream, 0n, [event()]).then(() => store.subscribe(...asked));
        return { ended: subscribed.then(({ ended }) => ended), close: async () => (await subscribed).close() };
      },
    });
    const revisions: bigint[] = [];
    const plan = { stream, from: 'start', direction: 'forwards', count: undefined, filter: undefined } as const;
    const subscription = await openSubscription(
      { log, rules: noStreamRules, present: storedForm, now: Date.now },
      { ...plan, form: 'string', supportsRange: false },
      {
        send: (answer) => {
          const { content } = fromBinary(ReadRespSchema, answer);
          if (content.case === 'event') revisions.push(content.value.event!.streamRevision);
          return Promise.resolve();
        },
        subscriptionId: 'id',
      },
    );
    await expect.poll(() => revisions, { timeout: 3_000 }).toEqual([0n, 1n]);
    await subscription.close();
  });
});
