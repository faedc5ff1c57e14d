import { describe, expect, it } from 'vitest';

import { LEASE_MS, type Leases } from '../../../services/kernel/ports/leases.js';
import { shareOf, assignPartitions } from '../../../services/kernel/assignment.js';
import { manualTimers } from '../../support/manual-timers.js';

const PARTITIONS = Array.from({ length: 8 }, (_, at) => String(at));

/** Leases in memory, with a clock that the test advances. */
const memoryLeases = (now: () => number): Leases & { fails: boolean } => {
  const rows = new Map<string, { owner: string; until: number }>();
  const leases: Leases & { fails: boolean } = {
    fails: false,
    take: (names, owner) => {
      if (leases.fails) return Promise.reject(new Error('the store is away'));
      const own = names.filter((name) => {
        const row = rows.get(name);
        return !row || row.owner === owner || row.until <= now();
      });
      for (const name of own) rows.set(name, { owner, until: now() + LEASE_MS });
      return Promise.resolve(own);
    },
    held: (prefix) => {
      const found = [...rows].filter(([name, { until }]) => name.startsWith(prefix) && until > now());
      return Promise.resolve(new Map(found.map(([name, { owner }]) => [name, owner])));
    },
    describe: () => Promise.resolve(),
    descriptions: () => Promise.resolve(new Map()),
    release: (names, owner) => {
      for (const name of names) if (rows.get(name)?.owner === owner) rows.delete(name);
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
  return leases;
};

/** Waits until promises that are due have been settled. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
};

/** A group of workers in one process; `pass` moves their clock in steps of 250 ms. */
const openGroup = () => {
  const clock = manualTimers(0);
  const leases = memoryLeases(() => clock.now());
  const failures: unknown[] = [];
  const join = (worker: string) => {
    let own: readonly string[] = [];
    let isStopped = false;
    let rejections = 0;
    // `stop` stands for a process that is suspended or dead: its timers do not fire.
    const timers = { ...clock, after: (ms: number, run: () => void) => clock.after(ms, () => !isStopped && run()) };
    const work = assignPartitions({
      leases,
      group: 'views',
      partitions: PARTITIONS,
      worker,
      timers,
      onAssigned: (parts) => {
        if (rejections-- > 0) return Promise.reject(new Error('the work cannot be started'));
        own = parts;
        return Promise.resolve();
      },
      onFailure: (error) => failures.push(error),
    });
    return {
      own: () => own,
      close: () => work.close(),
      stop: () => void (isStopped = true),
      rejectTimes: (times: number) => void (rejections = times),
    };
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.advance(250);
      await settled();
    }
  };
  return { leases, join, pass, failures };
};

describe("a worker's share of the partitions", () => {
  it('is every n-th partition, by the order of all workers', () => {
    expect(shareOf(PARTITIONS, ['b', 'a', 'c'], 'b')).toEqual(['1', '4', '7']);
    expect(shareOf(PARTITIONS, ['a'], 'a')).toEqual(PARTITIONS);
    expect(shareOf(PARTITIONS, ['a'], 'b')).toEqual([]);
    const nine = Array.from({ length: 9 }, (_, at) => `w${at}`);
    expect(nine.flatMap((worker) => shareOf(PARTITIONS, nine, worker)).sort()).toEqual(PARTITIONS);
  });

  it('is everything for one worker alone, and half when another joins', async () => {
    const { join, pass } = openGroup();
    const a = join('a');
    await pass(250);
    expect(a.own()).toEqual(PARTITIONS);
    const b = join('b');
    await pass(4_000);
    expect([a.own(), b.own()]).toEqual([
      ['0', '2', '4', '6'],
      ['1', '3', '5', '7'],
    ]);
  });

  it('goes to the others within 4 seconds when the worker leaves, and within 9 seconds when it dies', async () => {
    const { join, pass } = openGroup();
    const [a, b, c] = [join('a'), join('b'), join('c')];
    await pass(4_000);
    await c.close();
    expect(c.own()).toEqual([]);
    await pass(4_000);
    expect([...a.own(), ...b.own()].sort()).toEqual(PARTITIONS);
    b.stop();
    await pass(9_000);
    expect(a.own()).toEqual(PARTITIONS);
  });

  it('is assigned again at each renewal while the process cannot take it, and its leases stay', async () => {
    const { join, pass, failures } = openGroup();
    const a = join('a');
    a.rejectTimes(Infinity);
    const b = join('b');
    await pass(12_000);
    expect([a.own(), b.own()]).toEqual([[], ['1', '3', '5', '7']]);
    expect(failures.length).toBeGreaterThan(1);
    a.rejectTimes(0);
    await pass(2_000);
    expect(a.own()).toEqual(['0', '2', '4', '6']);
  });

  it('goes to a worker that joins before its lease ends, also when it is given up only at a second attempt', async () => {
    const { join, pass } = openGroup();
    const a = join('a');
    await pass(250);
    a.rejectTimes(1);
    const b = join('b');
    await pass(4_000);
    expect([a.own(), b.own()]).toEqual([
      ['0', '2', '4', '6'],
      ['1', '3', '5', '7'],
    ]);
  });

  it('is kept while leases cannot be taken or renewed', async () => {
    const { join, pass, leases, failures } = openGroup();
    const a = join('a');
    await pass(250);
    leases.fails = true;
    await pass(20_000);
    expect(a.own()).toEqual(PARTITIONS);
    expect(failures.length).toBeGreaterThan(1);
    leases.fails = false;
    await pass(2_000);
    expect(a.own()).toEqual(PARTITIONS);
  });
});
