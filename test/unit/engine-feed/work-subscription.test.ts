import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { create, toBinary } from '@bufbuild/protobuf';

import { EngineSessionOpenedSchema } from '../../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import { engineSessionStream } from '../../../services/engine-session/events.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { WorkBoard } from '../../../services/streams/engine-feed/work-board.js';
import { WorkSubscription } from '../../../services/streams/engine-feed/work-subscription.js';
import { newEvent, openEmptyLog } from '../../support/streams/filled-log.js';

const away = new StoreUnavailable('the store is away');

const unused = (): never => {
  throw new Error('no test calls this');
};

describe('the log subscription of the waiting work', () => {
  let directory: string;
  let store: EventStore;

  const openSession = (session: string): Promise<unknown> => {
    const id = { group: 'default', engine: 'a', session };
    const data = toBinary(EngineSessionOpenedSchema, create(EngineSessionOpenedSchema, id));
    return store.append(engineSessionStream(id), 'any', [newEvent('EngineSessionOpened', data)]);
  };

  beforeEach(async () => {
    ({ directory, store } = await openEmptyLog());
  });

  afterEach(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  it('is opened by a second start when the store was unavailable at the first', async () => {
    await openSession('s1');
    let headReads = 0;
    const board = new WorkBoard({
      log: {
        subscribe: (...given) => store.subscribe(...given),
        readStream: unused,
        head: () => ((headReads += 1) === 1 ? Promise.reject(away) : store.head()),
      },
      leases: { lease: unused, giveBack: unused, fail: unused, held: unused, launch: unused },
      sessions: { open: unused, renew: unused, renewals: unused, end: unused },
      positionToken: String,
      weightOf: () => 1,
      ...{ leaseMs: 30_000, isShared: false, now: Date.now, steadyMs: Date.now, onParked: unused, onFailure: unused },
    });
    await expect(board.start()).rejects.toBe(away);
    await board.start();
    expect([...board.sessions.all()].map(({ id }) => id.session)).toEqual(['s1']);
    await board.close();
  });

  it('stays closed when it is closed while its start reads the head of the log', async () => {
    let closing: Promise<void> | undefined;
    let subscriptions = 0;
    const subscription: WorkSubscription = new WorkSubscription({
      log: {
        subscribe: (...given) => {
          subscriptions += 1;
          return store.subscribe(...given);
        },
        head: () => {
          closing ??= subscription.close();
          return store.head();
        },
      },
      ...{ fold: () => undefined, onBroken: unused },
    });
    await expect(subscription.start()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await closing;
    expect([subscriptions, subscription.isComplete()]).toEqual([0, false]);
  });

  it('resumes after the last folded event when it has broken, and folds no event twice', async () => {
    const folded: string[] = [];
    let isAway = true;
    let breakWith: (error: unknown) => void = unused;
    const broken = new Promise<unknown>((resolve) => (breakWith = resolve));
    const subscription = new WorkSubscription({
      log: store,
      fold: ({ stream }) => {
        if (isAway && folded.length === 2) throw away;
        folded.push(stream.split(':').at(-1) ?? '');
      },
      onBroken: (error) => breakWith(error),
    });
    await openSession('s1');
    await subscription.start();
    await openSession('s2');
    await openSession('s3');
    expect(await broken).toBe(away);
    expect(subscription.isComplete()).toBe(false);
    isAway = false;
    await openSession('s4');
    await subscription.start();
    expect([folded, subscription.isComplete()]).toEqual([['s1', 's2', 's3', 's4'], true]);
    await subscription.close();
  });
});
