import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ReadRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog, EventStore } from '../../../services/kernel/ports/event-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import type { ReadFilter } from '../../../services/streams/eventstore/read/filter.js';
import { storedForm } from '../../../services/streams/eventstore/recorded.js';
import { noStreamRules } from '../../../services/streams/eventstore/stream-rules.js';
import { openSubscription } from '../../../services/streams/eventstore/read/subscribe.js';
import { newEvent, openEmptyLog } from '../../support/streams/filled-log.js';

const EVENTS = 100;

/** The distance of the positions of two events, as in a log whose positions are byte offsets. */
const STRIDE_BYTES = 500n;

/** An event or a page with its position in a log whose positions are further apart. */
const strided = <Placed extends { readonly position: bigint }>(placed: Placed): Placed => ({
  ...placed,
  position: placed.position * STRIDE_BYTES,
});

const stridedEvents = (events: readonly RecordedEvent[]): RecordedEvent[] => events.map(strided);

/** The same log with positions that are further apart. */
const withOffsets = (log: EventLog): EventLog => ({
  ...log,
  head: async () => (await log.head()) * STRIDE_BYTES,
  async *readLog({ after, ...options }) {
    for await (const page of log.readLog({ ...options, after: after / STRIDE_BYTES }))
      yield { ...strided(page), events: stridedEvents(page.events) };
  },
  subscribe: ({ after, ...options }, onPage) =>
    log.subscribe({ ...options, after: after / STRIDE_BYTES }, (page, isLive) =>
      onPage({ ...strided(page), events: stridedEvents(page.events) }, isLive),
    ),
});

describe('the checkpoints of a subscription with a filter', () => {
  let directory: string;
  let store: EventStore;
  beforeAll(async () => {
    ({ directory, store } = await openEmptyLog());
    const stream = streamName('counted', [randomUUID()]);
    const events = Array.from({ length: EVENTS }, () => newEvent('Counted', Buffer.from('{}')));
    await store.append(stream, 'no-stream', events);
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** The positions of the checkpoints that come before a subscription has caught up. */
  const checkpointsOf = async (log: EventLog, filter: ReadFilter): Promise<bigint[]> => {
    const checkpoints: bigint[] = [];
    const reading = { log, rules: noStreamRules, present: storedForm, now: Date.now };
    const plan = { stream: undefined, from: 'start', direction: 'forwards', count: undefined, filter } as const;
    let caughtUp = (): void => undefined;
    const whenCaughtUp = new Promise<void>((resolve) => (caughtUp = resolve));
    const send = (answer: Buffer): Promise<void> => {
      const { content } = fromBinary(ReadRespSchema, answer);
      if (content.case === 'checkpoint') checkpoints.push(content.value.commitPosition);
      if (content.case === 'caughtUp') caughtUp();
      return Promise.resolve();
    };
    const options = { send, subscriptionId: 'id' };
    const subscription = await openSubscription(reading, { ...plan, form: 'string', supportsRange: true }, options);
    await whenCaughtUp;
    await subscription.close();
    return checkpoints;
  };

  it.each([
    { what: 'none', matches: () => false },
    { what: 'all', matches: () => true },
  ])('come after each 32 events examined, of which $what match, whatever the positions', async ({ matches }) => {
    const filter = { matches, checkpointEvery: 32 };
    expect(await checkpointsOf(store, filter)).toEqual([32n, 64n, 96n]);
    expect(await checkpointsOf(withOffsets(store), filter)).toEqual([32n, 64n, 96n].map((at) => at * STRIDE_BYTES));
  });

  it('come after each 48 events of the categories of the filter, and once at the end if these are fewer', async () => {
    const filterFor = (category: string): ReadFilter => ({
      matches: () => true,
      categories: [category],
      checkpointEvery: 48,
    });
    expect(await checkpointsOf(withOffsets(store), filterFor('counted'))).toEqual(
      [48n, 96n].map((at) => at * STRIDE_BYTES),
    );
    expect(await checkpointsOf(withOffsets(store), filterFor('other'))).toEqual([BigInt(EVENTS) * STRIDE_BYTES]);
    expect(await checkpointsOf(store, filterFor('other'))).toEqual([BigInt(EVENTS)]);
  });
});
