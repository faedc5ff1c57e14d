import { describe, expect, it } from 'vitest';
import fc from 'fast-check';

import { retryDelayMs } from '../../../services/reactors/frame/retry.js';
import { type WorkResult, workQueue } from '../../../services/reactors/frame/work-queue.js';
import { manualTimers } from '../../support/manual-timers.js';

const START = 1_700_000_000_000;

/** Lets all work that is due run, in turns of the event loop. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Opens a queue; with `giveUp`, it gives up items that have failed for 10 s. `done` and `failures` are its reports. */
const open = (work: (item: string) => Promise<WorkResult>, giveUp?: (item: string) => Promise<void>) => {
  const timers = manualTimers(START);
  const failures: unknown[] = [];
  const done: string[] = [];
  const queue = workQueue<string>({
    timers,
    work,
    onDone: (item) => done.push(item),
    onFailure: (error) => failures.push(error),
    retry: { firstMs: 1_000, maxMs: 8_000, giveUpAfterMs: 10_000 },
    ...(giveUp && { giveUp }),
    random: () => 0,
  });
  const advance = async (ms: number): Promise<void> => {
    timers.advance(ms);
    await turns();
  };
  return { queue, advance, failures, done };
};

describe('a queue of work', () => {
  it('works on an item again at the time that the work asks for', async () => {
    let runs = 0;
    const { queue, advance, done } = open(() =>
      Promise.resolve((runs += 1) < 3 ? { againAtMs: START + 500 } : undefined),
    );
    queue.add('a', START);
    await turns();
    await advance(499);
    expect(runs).toBe(1);
    await advance(1);
    expect([runs, done]).toEqual([3, ['a']]);
    await queue.close();
  });

  it('is not held up by an item that fails', async () => {
    const { queue, done } = open((item) =>
      item === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve(undefined),
    );
    queue.add('bad', START - 1);
    queue.add('good', START);
    await turns();
    expect(done).toEqual(['good']);
    expect(queue.figures()).toMatchObject({ waiting: 1, retrying: 1, dead: 0 });
    await queue.close();
  });

  it('gives up an item that still fails after the configured time, as soon as that can be recorded', async () => {
    const dead: string[] = [];
    let isRecorded = false;
    const { queue, advance, failures } = open(
      () => Promise.reject(new Error('no')),
      (item) => {
        if (!isRecorded) return Promise.reject(new Error('the log is away'));
        dead.push(item);
        return Promise.resolve();
      },
    );
    queue.add('bad', START);
    await turns();
    for (const delay of [1_000, 2_000, 4_000, 8_000]) await advance(delay);
    expect(failures.map((error) => (error as Error).message)).toEqual([
      'no',
      'no',
      'no',
      'no',
      'no',
      'the log is away',
    ]);
    isRecorded = true;
    await advance(8_000);
    expect([dead, queue.figures()]).toEqual([['bad'], { waiting: 0, retrying: 0, dead: 1, lagMs: 0 }]);
    await queue.close();
  });

  it('counts an item that is tried again at the moment as one that is retried', async () => {
    let fail: (error: Error) => void = () => undefined;
    const { queue, advance } = open(() => new Promise((_, reject) => (fail = reject)));
    const counted = () => ({ waiting: queue.figures().waiting, retrying: queue.figures().retrying });
    queue.add('bad', START);
    expect(counted()).toEqual({ waiting: 1, retrying: 0 });
    fail(new Error('no'));
    await turns();
    expect(counted()).toEqual({ waiting: 1, retrying: 1 });
    await advance(1_000);
    expect(counted()).toEqual({ waiting: 1, retrying: 1 });
    fail(new Error('no'));
    await queue.close();
  });

  it('says how long its oldest item has been due', async () => {
    const { queue, advance } = open(() => Promise.reject(new Error('no')));
    queue.add('a', START + 5_000);
    expect(queue.figures().lagMs).toBe(0);
    await advance(5_500);
    expect(queue.figures().lagMs).toBe(0); // it failed, and its retry is not due
    await queue.close();
    queue.add('b', START + 5_000);
    expect(queue.figures().lagMs).toBe(500); // a closed queue works on nothing more
  });
});

describe('the delay of a retry', () => {
  it('doubles with each attempt up to a limit, and a random part of at most half is taken off', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (attempts, random) => {
          const whole = Math.min(1_000 * 2 ** (attempts - 1), 60_000);
          const delay = retryDelayMs({ firstMs: 1_000, maxMs: 60_000 }, attempts, random);
          const takenOff = (random * whole) / 2;
          expect(Math.abs(delay - (whole - takenOff))).toBeLessThanOrEqual(1); // whole milliseconds
        },
      ),
    );
  });
});
