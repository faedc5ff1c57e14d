import { describe, expect, it } from 'vitest';

import { throughLog, timeLeft } from '../../../services/cli/progress-bar.js';

describe('the time that a phase still takes', () => {
  /** A phase that begins at 5 s, when 100 parts of the work are done. */
  const began = { done: 100, atMs: 5_000 };

  it('is estimated by the rate of the phase itself, without earlier work', () => {
    expect(timeLeft(began, { done: 200, atMs: 15_000 }, 400)).toBe(' · 20 s left');
    expect(timeLeft(began, { done: 400, atMs: 15_000 }, 400)).toBe(' · 0 s left');
  });

  it('is left out in the first moments, and while nothing is done', () => {
    expect(timeLeft(began, { done: 101, atMs: 5_300 }, 2_608)).toBe('');
    expect(timeLeft(began, began, 2_608)).toBe('');
    expect(timeLeft(began, { done: 100, atMs: 15_000 }, 2_608)).toBe('');
  });
});

describe('the progress through the log', () => {
  it('has the position that was read, and that of the end', () => {
    expect(throughLog({ phase: 'read', position: 12n, head: 2_608n })).toEqual({
      phase: 'read',
      done: 12,
      total: 2_608,
      detail: 'position 12 of 2608',
    });
  });
});
