import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { streamName } from '../../../services/kernel/stream.js';
import { positionWaits, reachPosition } from '../../../services/reference/position-waits.js';
import { followFolds, type LogFollower } from '../../../services/reference/live-folds.js';
import { projectFold } from '../../../services/reference/project-directory.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';

describe('calls that wait for a position', () => {
  let directory: string;
  let store: EventStore;
  let following: LogFollower;
  /** The number of reads towards the head of the log, and the gate that each of them waits for. */
  let headReads: number;
  let gate: Promise<void>;
  let openGate: () => void;
  let failReads: (error: Error) => void;

  const closeGate = (): void => {
    gate = new Promise((resolve, reject) => {
      openGate = resolve;
      failReads = reject;
    });
    gate.catch(() => undefined);
  };

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-waits-'));
    store = await sqliteEventStore({ directory });
    headReads = 0;
    closeGate();
    const counting: EventStore = {
      ...store,
      async *readLog(...asked) {
        headReads += 1;
        await gate;
        yield* store.readLog(...asked);
      },
    };
    following = followFolds(counting, [projectFold()]);
  });

  afterEach(async () => {
    openGate();
    await following.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** Records an event of a category that is not followed, so that it does not wake the subscription. */
  const record = (): Promise<unknown> =>
    store.append(streamName('purse', [randomUUID()]), 'no-stream', [
      { id: new Uint8Array(16), type: 'EngineReported', data: new Uint8Array(), metadata: '{}' },
    ]);
  /** Starts `count` calls that wait for a position, each for at most a minute. */
  const waitFor = (position: bigint, count: number) =>
    Array.from({ length: count }, () => following.reached(position, 60_000));

  it('share the reads towards the head of the log', async () => {
    const waits = waitFor(2n, 200);
    await Promise.all([record(), record()]);
    expect(headReads).toBe(1);
    openGate();
    expect(new Set(await Promise.all(waits))).toEqual(new Set([true]));
    expect(headReads).toBeLessThanOrEqual(2);
    expect(following.position()).toBe(2n);
  });

  it('end with false after their timeout, or when the follower of the log is closed', async () => {
    expect(await following.reached(7n, 1)).toBe(false);
    const waiting = following.reached(7n, 60_000);
    openGate();
    await following.close();
    expect(await waiting).toBe(false);
  });

  it('are refused while 1,000 wait, and fail when the log cannot be read', async () => {
    const waits = Promise.allSettled(waitFor(7n, 1_000));
    await expect(following.reached(7n, 60_000)).rejects.toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      retryAfterMs: 1_000,
    });
    failReads(new StoreUnavailable('no server answers'));
    expect((await waits).every(({ status }) => status === 'rejected')).toBe(true);
    closeGate();
    expect(await following.reached(7n, 1)).toBe(false);
  });

  it('of continuing clients are refused above the limit, or if the log still ends before the position', async () => {
    const waits = positionWaits({ hasReached: () => false, maxWaiting: 2 });
    const continuing = { waits, position: () => 3n, maxLagMs: 20 };
    const waiting = Promise.allSettled([reachPosition(continuing, 7n), reachPosition(continuing, 8n)]);
    await expect(reachPosition(continuing, 9n)).rejects.toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: expect.stringMatching(/^2 calls wait for positions of the log/u) as string,
    });
    for (const each of await waiting)
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
  });

  it('read nothing themselves where the subscription advances over every position', async () => {
    const advancing = followFolds(
      { ...store, readLog: () => expect.unreachable('a read of the log') },
      [projectFold()],
      {
        advancesOverAll: true,
      },
    );
    const waiting = advancing.reached(1n, 60_000);
    await store.append(streamName('project', [randomUUID()]), 'no-stream', [
      { id: new Uint8Array(16), type: 'ProjectUpdated', data: new Uint8Array(), metadata: '{}' },
    ]);
    expect(await waiting).toBe(true);
    await advancing.close();
  });
});
