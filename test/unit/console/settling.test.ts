import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { settling } from '../../../console/server/settling.js';

/** The time from an event to the refresh of a page. */
const SETTLING_MS = 600;

/** A page whose refreshes end when the test says so. */
const page = () => {
  const ends: (() => void)[] = [];
  const refresh = vi.fn(() => new Promise<void>((resolve) => ends.push(resolve)));
  return { refresh, end: () => ends.pop()?.(), ...settling(refresh) };
};

describe('a page that follows events', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is refreshed once, 600 ms after the first event, although more events come', async () => {
    const { changed, refresh } = page();
    changed();
    await vi.advanceTimersByTimeAsync(300);
    changed();
    await vi.advanceTimersByTimeAsync(299);
    expect(refresh).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(refresh).toHaveBeenCalledTimes(1);
  });

  it('is not refreshed again before the refresh has ended, and then after a pause three times as long', async () => {
    const { changed, refresh, end } = page();
    changed();
    await vi.advanceTimersByTimeAsync(SETTLING_MS);
    changed();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(refresh).toHaveBeenCalledTimes(1);
    end();
    await vi.advanceTimersByTimeAsync(2_999);
    expect(refresh).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(refresh).toHaveBeenCalledTimes(2);
  });

  it('is refreshed 30 s after an event at the latest where no refresh is running, however long the one before took', async () => {
    const { changed, refresh, end } = page();
    changed();
    await vi.advanceTimersByTimeAsync(SETTLING_MS);
    await vi.advanceTimersByTimeAsync(300_000);
    end();
    await vi.advanceTimersByTimeAsync(0);
    changed();
    await vi.advanceTimersByTimeAsync(29_999);
    expect(refresh).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(refresh).toHaveBeenCalledTimes(2);
  });

  it('is not refreshed again without a further event', async () => {
    const { changed, refresh, end } = page();
    changed();
    await vi.advanceTimersByTimeAsync(SETTLING_MS);
    end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(refresh).toHaveBeenCalledTimes(1);
  });

  it('is not refreshed once stopped, even for an event before that', async () => {
    const { changed, stop, refresh, end } = page();
    changed();
    await vi.advanceTimersByTimeAsync(SETTLING_MS);
    changed();
    stop();
    end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(refresh).toHaveBeenCalledTimes(1);
  });
});
