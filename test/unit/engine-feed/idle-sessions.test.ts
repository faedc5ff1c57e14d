import { rmSync } from 'node:fs';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { WorkHeartbeatSchema } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import {
  EngineSessionEndedSchema,
  EngineSessionOpenedSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import { engineSessionStream } from '../../../services/engine-session/events.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { openSendQueue } from '../../../services/streams/engine-feed/send-queue.js';
import { IDLE_FACTOR, WorkBoard } from '../../../services/streams/engine-feed/work-board.js';
import type { JoinedEngine } from '../../../services/streams/engine-feed/work-offers.js';
import { newEvent, openTestLog } from '../../support/filled-log.js';

/** The lease duration, in milliseconds: sessions are checked every 10 ms, by a clock that the tests move. */
const LEASE_MS = 30;
const IDLE_MS = IDLE_FACTOR * LEASE_MS;

const idOf = (session: string) => ({ group: 'default', engine: `engine of ${session}`, session });

const unused = (): never => {
  throw new Error('no execution waits');
};

const idleEngine = (session: string, atMs: number): JoinedEngine => ({
  ...{ group: 'default', engine: `engine of ${session}`, producerId: 'p', places: 1, maxInlineBytes: 0, free: 1 },
  ...{ id: idOf(session), takes: () => true, sendQueue: openSendQueue(), seenAtMs: atMs, renewedAtMs: atMs },
  ...{ deciding: new Set(), held: new Map(), rejected: new Set() },
});

describe('the session of an engine without leases', () => {
  let directory: string;
  let store: EventStore;
  let board: WorkBoard;
  let atMs: number;
  /** The number of times that the clock was read. */
  let reads: number;
  let ended: string[];
  let renewed: string[];

  const opened = (isShared: boolean): WorkBoard =>
    new WorkBoard({
      log: store,
      leases: { streamOf: unused, lease: unused, giveBack: unused, fail: unused, held: unused, launch: unused },
      sessions: {
        open: unused,
        renew: ({ session }) => Promise.resolve(renewed.push(session) > 0),
        renewals: () => Promise.resolve(0),
        end: async (id, cause) => {
          ended.push(`${id.session}: ${cause}`);
          const data = toBinary(EngineSessionEndedSchema, create(EngineSessionEndedSchema, { session: id.session }));
          await store.append(engineSessionStream(id), 'any', [newEvent('EngineSessionEnded', data)]);
        },
      },
      positionToken: String,
      weightOf: () => 1,
      ...{ leaseMs: LEASE_MS, isShared, onParked: unused, onFailure: unused },
      now: () => ((reads += 1), atMs),
    });

  const sessions = (): string[] => [...board.sessions.all()].map(({ id }) => id.session);

  /** Moves the clock, and waits until the sessions have been checked again. */
  const pass = async (ms: number): Promise<void> => {
    atMs += ms;
    const before = reads;
    await expect.poll(() => reads).toBeGreaterThan(before + 2 * sessions().length);
  };

  beforeEach(async () => {
    ({ directory, store } = await openTestLog());
    [atMs, reads, ended, renewed] = [0, 0, [], []];
    for (const session of ['a', 'b']) {
      const data = toBinary(EngineSessionOpenedSchema, create(EngineSessionOpenedSchema, idOf(session)));
      await store.append(engineSessionStream(idOf(session)), 'any', [newEvent('EngineSessionOpened', data)]);
    }
  });
  afterEach(async () => {
    await board.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  it('ends after the lease duration when the engine has disconnected from the only process', async () => {
    board = opened(false);
    await board.start();
    board.engines.set('b', idleEngine('b', LEASE_MS));
    await pass(LEASE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await expect.poll(sessions).toEqual(['b']);
    expect(new Set(ended)).toEqual(new Set(['a: no heartbeat for 0.03 s']));
  });

  it('outlasts the lease duration where the engine may be connected to another process, and ends at last', async () => {
    board = opened(true);
    await board.start();
    await pass(IDLE_MS - 1);
    expect(ended).toEqual([]);
    await pass(1); // the number of renewals is noted
    await pass(IDLE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await expect.poll(sessions).toEqual([]);
    expect(new Set(ended)).toEqual(new Set(['a: no heartbeat for 3.6 s', 'b: no heartbeat for 3.6 s']));
  });

  it('is renewed in the log several times before another process would end it', async () => {
    board = opened(true);
    const engine = idleEngine('a', 0);
    const heartbeat = create(WorkHeartbeatSchema);
    for (; atMs <= IDLE_MS; atMs += LEASE_MS) await board.renew(engine, heartbeat);
    expect(renewed).toEqual(Array(6).fill('a'));
  });
});
