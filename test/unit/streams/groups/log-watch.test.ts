import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { StoreUnavailable } from '../../../../services/kernel/fault.js';
import type { EventLog, Subscription } from '../../../../services/kernel/ports/event-store.js';
import { logWatch } from '../../../../services/streams/eventstore/groups/log-watch.js';

const away = (): StoreUnavailable => new StoreUnavailable('the log is away');

describe('the watch of a log for its consumer groups', () => {
  /** The number of reads of the head: one for each attempt to subscribe, which is repeated every 500 ms. */
  let headReads: number;
  let head: () => Promise<bigint>;
  let fail: (error: Error) => void;
  const log = {
    head: () => {
      headReads += 1;
      return head();
    },
    subscribe: (): Subscription => ({
      ended: new Promise<void>((_, reject) => (fail = reject)),
      close: () => Promise.resolve(),
    }),
  } as unknown as EventLog;

  beforeEach(() => {
    vi.useFakeTimers();
    headReads = 0;
    head = () => Promise.resolve(0n);
  });
  afterEach(() => void vi.useRealTimers());

  it('opens a lost subscription again, until it succeeds, and tells that events may have been missed', async () => {
    let gaps = 0;
    const watch = logWatch(
      log,
      () => undefined,
      () => (gaps += 1),
    );
    await watch.begin();
    head = () => Promise.reject(away());
    fail(away());
    await vi.advanceTimersByTimeAsync(1_200);
    expect([headReads, gaps]).toEqual([3, 0]);
    head = () => Promise.resolve(0n);
    await vi.advanceTimersByTimeAsync(500);
    expect([headReads, gaps]).toEqual([4, 1]);
    await watch.end();
  });

  it('opens nothing after its end, also when it was opening a lost subscription again', async () => {
    const watch = logWatch(
      log,
      () => undefined,
      () => undefined,
    );
    await watch.begin();
    let refuse = (): void => undefined;
    head = () => new Promise((_, reject) => (refuse = () => reject(away())));
    fail(away());
    await vi.advanceTimersByTimeAsync(500);
    const ended = watch.end();
    refuse();
    await ended;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(headReads).toBe(2);
  });
});
