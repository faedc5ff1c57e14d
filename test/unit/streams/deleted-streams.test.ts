import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { NewEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { fullAccess } from '../../../services/streams/eventstore/access.js';
import {
  type AppendServices,
  deleteStream,
  launchAppend,
  tombstoneStream,
} from '../../../services/streams/eventstore/append/append.js';
import type { Expected } from '../../../services/streams/eventstore/append/append-request.js';
import { WrongVersion } from '../../../services/streams/eventstore/failure.js';
import { firstVisible } from '../../../services/streams/eventstore/read/read.js';
import { storedForm } from '../../../services/streams/eventstore/recorded.js';
import { openSubscription } from '../../../services/streams/eventstore/read/subscribe.js';
import {
  metadataStreamOf,
  openStreamRules,
  readMetadata,
  STREAM_METADATA,
} from '../../../services/streams/eventstore/stream-rules.js';
import { newEvent, openEmptyLog } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

/** The metadata that EventStoreDB gives a stream when it deletes it, with a field that a client added later. */
const DELETED = '{"$tb":9223372036854775807,"$maxAge":60}';

describe('a stream that was deleted', () => {
  let directory: string;
  let store: EventStore;
  let writing: AppendServices;
  let stream: StreamName;

  beforeAll(async () => {
    ({ directory, store } = await openEmptyLog());
    const rules = await openStreamRules(store);
    writing = { store, access: fullAccess, rules, now: Date.now, newId: () => randomBytes(16) };
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    stream = streamName('deleted', [randomUUID()]);
    for (let count = 0; count < 3; count += 1) await append(stream, newEvent('Counted', Buffer.from('{}')));
  });

  const append = async (to: string, event: NewEvent, expected: Expected = 'any', services = writing) =>
    (await launchAppend(services, { stream: to as StreamName, expected, events: [event] })).outcome;

  const setMetadata = (json: string) => append(metadataStreamOf(stream), newEvent(STREAM_METADATA, Buffer.from(json)));

  /** The first revision of the stream that its rules leave visible; no test records an event at revision 9 or above. */
  const visibleFrom = async (): Promise<bigint> => firstVisible(await writing.rules.of(stream), 9n);

  it('is hidden whole when EventStoreDB has deleted it', async () => {
    await setMetadata(DELETED);
    expect(await visibleFrom()).toBeGreaterThan(2n ** 62n);
  });

  it('shows what is appended after EventStoreDB has deleted it, and keeps its other metadata', async () => {
    await setMetadata(DELETED);
    const [first, second] = await Promise.all([
      append(stream, newEvent('Counted', Buffer.from('{}'))),
      append(stream, newEvent('Counted', Buffer.from('{}'))),
    ]);
    expect([first.revision, second.revision].sort()).toEqual([3n, 4n]);
    expect(await visibleFrom()).toBe(3n);
    expect(await readMetadata(store, stream)).toEqual({ $tb: 3, $maxAge: 60 });
    const restarted = await openStreamRules(store);
    expect(await restarted.of(stream)).toEqual(await writing.rules.of(stream));
  });

  it('keeps its metadata when an append to it is refused', async () => {
    await setMetadata(DELETED);
    await expect(append(stream, newEvent('Counted', Buffer.from('{}')), 1n)).rejects.toThrow(WrongVersion);
    expect(await readMetadata(store, stream)).toEqual(JSON.parse(DELETED));
  });

  it('keeps metadata that another client writes during an append', async () => {
    await setMetadata(DELETED);
    let hasWritten = false;
    async function* readStream(...[name, options]: Parameters<EventStore['readStream']>) {
      if (name === stream && !hasWritten) {
        hasWritten = true;
        const event = newEvent(STREAM_METADATA, Buffer.from('{"$maxAge":5}'));
        await store.append(metadataStreamOf(stream) as StreamName, 'any', [event]);
      }
      yield* store.readStream(name, options);
    }
    const own = { readStream, append: store.append.bind(store) };
    const intercepted = Object.assign(Object.create(store) as EventStore, own);
    await append(stream, newEvent('Counted', Buffer.from('{}')), 'any', { ...writing, store: intercepted });
    expect(await readMetadata(store, stream)).toEqual({ $maxAge: 5 });
  });

  it('is a new stream for an append that expects none', async () => {
    await setMetadata(DELETED);
    const event = newEvent('Counted', Buffer.from('{}'));
    expect(await append(stream, event, 'no-stream')).toMatchObject({ revision: 3n });
  });

  it('sends what is appended later to a subscription that began before', async () => {
    await setMetadata(DELETED);
    let sent = 0;
    const reading = { log: store, rules: writing.rules, present: storedForm, now: Date.now };
    const plan = { stream, from: 'start', direction: 'forwards', count: undefined, filter: undefined } as const;
    const subscription = await openSubscription(
      reading,
      { ...plan, form: 'string', supportsRange: true },
      {
        send: () => Promise.resolve(void (sent += 1)),
        subscriptionId: 'id',
      },
    );
    const before = sent;
    await append(stream, newEvent('Counted', Buffer.from('{}')));
    await until(
      () => Promise.resolve(sent),
      (count) => count === before + 1,
    );
    await subscription.close();
  });

  it('stays hidden when it is deleted once more', async () => {
    for (let times = 0; times < 2; times += 1) {
      await deleteStream(writing, { stream, expected: 'any' });
      expect(await visibleFrom()).toBe(3n);
    }
  });

  it('is not deleted permanently when another client appends after its revision was checked', async () => {
    let hasAppended = false;
    const interceptedAppend: EventStore['append'] = async (...asked) => {
      if (!hasAppended) {
        hasAppended = true;
        await store.append(stream, 'any', [newEvent('Counted', Buffer.from('{}'))]);
      }
      return store.append(...asked);
    };
    const intercepted = Object.assign(Object.create(store) as EventStore, { append: interceptedAppend });
    const deleting = tombstoneStream({ ...writing, store: intercepted }, { stream, expected: 2n });
    await expect(deleting).rejects.toThrow(WrongVersion);
    expect(await writing.rules.of(stream)).toMatchObject({ isTombstoned: false });
    await tombstoneStream(writing, { stream, expected: 3n });
    expect(await writing.rules.of(stream)).toMatchObject({ isTombstoned: true });
  });

  it('can be deleted permanently by a client that expects no stream', async () => {
    await deleteStream(writing, { stream, expected: 'any' });
    await tombstoneStream(writing, { stream, expected: 'no-stream' });
    expect(await writing.rules.of(stream)).toMatchObject({ isTombstoned: true });
  });

  it('has lost its other metadata, as in EventStoreDB', async () => {
    await setMetadata('{"$maxAge":60}');
    await deleteStream(writing, { stream, expected: 'any' });
    expect(await readMetadata(store, stream)).toEqual({ $tb: 3 });
  });
});
