import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { createKeyedQueue } from '../../../../engine/bridge/keyed-queue.js';

afterEach(() => void vi.useRealTimers());

it('a keyed queue that was closed begins no work, not even on keys that wait for a slot', async () => {
  const worked: string[] = [];
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const queue = createKeyedQueue({
    concurrency: 1,
    work: async (key) => {
      worked.push(key);
      await finished;
    },
    onFailure: () => undefined,
  });
  queue.add('running');
  queue.add('waiting');
  await turn();
  queue.close();
  finish();
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(worked).toEqual(['running']);
});

/** A queue that works on one key at a time, and the keys that it has worked on. */
const recording = () => {
  const worked: string[] = [];
  const work = (key: string): Promise<void> => Promise.resolve(void worked.push(key));
  return { worked, queue: createKeyedQueue({ concurrency: 1, work, onFailure: () => undefined }) };
};

it('a key that is queued for later several times is worked on once, at the earliest time', async () => {
  vi.useFakeTimers();
  const { worked, queue } = recording();
  for (const milliseconds of [50, 30, 40]) queue.addAfter('a', milliseconds);
  queue.addAfter('b', 60);
  await vi.advanceTimersByTimeAsync(30);
  expect(worked).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(100);
  expect(worked).toEqual(['a', 'b']);
});

it('a key that is queued again does not wait longer after the clock of the computer was set forward', async () => {
  vi.useFakeTimers();
  const { worked, queue } = recording();
  queue.addAfter('a', 600_000);
  vi.setSystemTime(Date.now() + 3_600_000);
  queue.addAfter('a', 30);
  await vi.advanceTimersByTimeAsync(30);
  expect(worked).toEqual(['a']);
});

it('a key that is queued for a time beyond the longest timer is not worked on at once', async () => {
  vi.useFakeTimers();
  const { worked, queue } = recording();
  queue.addAfter('a', 30 * 86_400_000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(worked).toEqual([]);
});
