import { describe, expect, it } from 'vitest';

import { durationClass } from '../../../projections/query/duration-class.js';

/** Microseconds. */
const SECOND = 1_000_000;
const HOUR = 3_600 * SECOND;

describe("a duration's class", () => {
  it.each([1, 2, 3, 4])('has exactly %i hours alone in one class: flyteconsole filters by whole hours', (hours) => {
    const exact = durationClass(hours * HOUR);
    expect([durationClass(hours * HOUR - 1), durationClass(hours * HOUR + 1)]).toEqual([exact - 1, exact + 1]);
  });

  it('is from 0 to 15', () => {
    expect(durationClass(0)).toBe(0);
    expect(durationClass(Number.MAX_SAFE_INTEGER)).toBe(15);
  });
});
