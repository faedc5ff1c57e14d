import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Outcome } from '../../../services/kernel/ports/sessions.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { keepWarm, type KeptWarm } from '../../../services/sessions/keep-warm.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { purse } from '../../support/purse.js';

describe('live streams that are kept warm', () => {
  let directory: string;
  let store: EventStore;
  let here: OpenSessions;
  let there: OpenSessions;
  let warm: KeptWarm;
  /** How many events `here` has read of streams, and how many appends it has sent. */
  let read: number;
  let appends: number;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-warm-'));
    store = await sqliteEventStore({ directory });
    const payloads = filePayloadStore({ directory });
    [read, appends] = [0, 0];
    const counting: EventStore = {
      ...store,
      append: (...given) => ((appends += 1), store.append(...given)),
      async *readStream(...asked) {
        for await (const page of store.readStream(...asked)) {
          read += page.length;
          yield page;
        }
      },
    };
    here = openSessions({ store: counting, payloads, now: () => 1_000, isShared: true });
    there = openSessions({ store, payloads, now: () => 1_000, isShared: true });
    warm = await keepWarm(store, here);
  });

  afterEach(async () => {
    await warm.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const add = (sessions: OpenSessions, stream: StreamName): Promise<Outcome<unknown>> =>
    sessions.handle(purse, stream, { kind: 'add' }, { actor: 'tester', commandId: randomUUID() });
  const heard = async (position: bigint): Promise<void> => {
    while (warm.position() < position) await new Promise((resolve) => setImmediate(resolve));
  };
  const aStream = (): StreamName => streamName('purse', [randomUUID()]);

  it('read nothing, and meet no conflict, after what other processes have recorded', async () => {
    const stream = aStream();
    await add(here, stream);
    for (let round = 0; round < 4; round += 1) await heard((await add(there, stream)).position);
    await expect(add(here, stream)).resolves.toMatchObject({ kind: 'accepted', revision: 5n });
    expect({ read, appends }).toEqual({ read: 0, appends: 2 });
  });

  it('are no others than those that were asked for', async () => {
    const { position } = await add(there, aStream());
    await heard(position);
    expect(here.cached().sessions).toBe(0);
  });
});
