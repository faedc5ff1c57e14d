import { afterEach, describe, expect, it, vi } from 'vitest';

import { attemptLimit } from '../../../../services/auth/server/attempts.js';

/** A limit of 4 attempts in a minute; `take` makes attempts, and gives the seconds to wait before each, 0 for none. */
const limitOfFour = () => {
  const clock = { ms: 0 };
  const limit = attemptLimit(4, () => clock.ms);
  const take = (times: number, name = 'alice') => Array.from({ length: times }, () => limit.take(name));
  return { clock, limit, take };
};

describe('attempts', () => {
  afterEach(() => vi.useRealTimers());

  it('beyond the limit of a minute must wait, each name for itself', () => {
    const { take } = limitOfFour();
    expect(take(6)).toEqual([0, 0, 0, 0, 15, 15]);
    expect(take(1, 'bob')).toEqual([0]);
  });

  it('are regained one by one, each after a fourth of a minute', () => {
    const { clock, take } = limitOfFour();
    take(4);
    clock.ms = 14_000;
    expect(take(1)).toEqual([1]);
    clock.ms = 15_000;
    expect(take(2)).toEqual([0, 15]);
  });

  it('do not count when they are given back', () => {
    const { limit, take } = limitOfFour();
    take(4);
    limit.giveBack('alice');
    expect(take(2)).toEqual([0, 15]);
  });

  it('hold no name back because the clock of the machine is set back', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const limit = attemptLimit(4);
    limit.take('alice');
    limit.giveBack('alice');
    vi.setSystemTime(Date.now() - 3_600_000);
    expect(limit.take('alice')).toBe(0);
  });
});
