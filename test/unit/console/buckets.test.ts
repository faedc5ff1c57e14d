import fc from 'fast-check';
import { expect, it } from 'vitest';

import { bucketsOf } from '../../../console/executions/buckets.js';

it('without moments there are no slices of time', () => {
  expect(bucketsOf([], 10)).toEqual([]);
});

it('every moment is counted once, in the slice of time that contains it', () => {
  const moments = fc.array(fc.record({ at: fc.nat(10_000_000), kind: fc.constantFrom('good', 'bad') }), {
    minLength: 1,
  });
  fc.assert(
    fc.property(moments, fc.integer({ min: 1, max: 60 }), (given, slices) => {
      const buckets = bucketsOf(given, slices);
      expect(buckets).toHaveLength(slices);
      for (const { from, to, counts } of buckets) {
        const within = given.filter(({ at }) => at >= from && at < to);
        expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(within.length);
      }
      expect(buckets.flatMap(({ counts }) => Object.values(counts)).reduce((sum, count) => sum + count, 0)).toBe(
        given.length,
      );
    }),
  );
});
