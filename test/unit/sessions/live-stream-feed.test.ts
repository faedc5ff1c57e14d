import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Outcome } from '../../../services/kernel/ports/sessions.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { feedLiveStreams, type LiveStreamFeed } from '../../../services/sessions/live-stream-feed.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { purse } from '../../support/streams/purse.js';

describe('live streams that are fed with what other processes record', () => {
  let directory: string;
  let store: EventStore;
  /** The live streams of this process, which get the feed, and those of another process. */
  let here: OpenSessions;
  let there: OpenSessions;
  let feed: LiveStreamFeed;
  /** The number of events that `here` has read from streams, and of appends that it has sent. */
  let read: number;
  let appends: number;
  /** A promise that `here` waits for before it reads a stream. */
  let gate: Promise<void>;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-feed-'));
    store = await sqliteEventStore({ directory });
    const payloads = filePayloadStore({ directory });
    [read, appends] = [0, 0];
    gate = Promise.resolve();
    const counting: EventStore = {
      ...store,
      append: (...given) => ((appends += 1), store.append(...given)),
      async *readStream(...asked) {
        await gate;
        for await (const page of store.readStream(...asked)) {
          read += page.length;
          yield page;
        }
      },
    };
    here = openSessions({ store: counting, payloads, now: () => 1_000, isShared: true });
    there = openSessions({ store, payloads, now: () => 1_000, isShared: true });
    feed = await feedLiveStreams(store, here);
  });

  afterEach(async () => {
    await feed.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const add = (sessions: OpenSessions, stream: StreamName): Promise<Outcome<unknown>> =>
    sessions.handle(purse, stream, { kind: 'add' }, { actor: 'tester', commandId: randomUUID() });
  const spend = (sessions: OpenSessions, stream: StreamName): Promise<Outcome<unknown>> =>
    sessions.handle(purse, stream, { kind: 'spend' }, { actor: 'tester', commandId: randomUUID() });
  /** Waits until the feed has given `here` all events up to a position. */
  const observedTo = async (position: bigint): Promise<void> => {
    while (feed.position() < position) await new Promise((resolve) => setImmediate(resolve));
  };
  const newStream = (): StreamName => streamName('purse', [randomUUID()]);

  it('read nothing, and meet no conflict, after what other processes have recorded', async () => {
    const stream = newStream();
    await add(here, stream);
    for (let round = 0; round < 4; round += 1) await observedTo((await add(there, stream)).position);
    await expect(add(here, stream)).resolves.toMatchObject({ kind: 'accepted', revision: 5n });
    expect({ read, appends }).toEqual({ read: 0, appends: 2 });
  });

  /** The state of a purse as `here` knows it: its coins, and the revision of its last event. */
  const known = (stream: StreamName): Promise<unknown> =>
    here.readKnown(purse, stream, ({ state: { coins }, revision }) => ({ coins, revision }));

  it('answer without a read of the log what they have observed, and what they have recorded themselves', async () => {
    const stream = newStream();
    await add(here, stream);
    await observedTo((await add(there, stream)).position);
    await expect(known(stream)).resolves.toEqual({ coins: 2, revision: 1n });
    await add(here, stream);
    await expect(known(stream)).resolves.toEqual({ coins: 3, revision: 2n });
    expect(read).toBe(0);
  });

  it('are read where nothing is known of them', async () => {
    const stream = newStream();
    await add(there, stream);
    await expect(known(stream)).resolves.toEqual({ coins: 1, revision: 0n });
    expect(read).toBe(1);
  });

  it('have every event also when more than 1,000 are recorded while a command is decided', async () => {
    const stream = newStream();
    await add(here, stream);
    let openGate = (): void => undefined;
    gate = new Promise((resolve) => (openGate = resolve));
    const counted = here.handle(purse, stream, { kind: 'count' }, { actor: 'tester', commandId: randomUUID() });
    for (let round = 0; round < 501; round += 1) {
      // Two events a round: 1,002 in all.
      await spend(there, stream);
      await observedTo((await add(there, stream)).position);
    }
    openGate();
    await counted;
    await expect(known(stream)).resolves.toEqual({ coins: 1, revision: 1_002n });
  });

  it('are only those that a command or a read has asked for', async () => {
    const { position } = await add(there, newStream());
    await observedTo(position);
    expect(here.cached().sessions).toBe(0);
    expect(feed.position()).toBe(position);
  });
});
