import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { durationBetween, microsOf, timestampOf } from '../../../projections/query/times.js';

/** Times from the year 1 to the year 9999, the range of `google.protobuf.Timestamp`. */
const instants = fc
  .record({ seconds: fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }), nanos: fc.nat(999_999_999) })
  .map(timestampOf);

const nanosIn = ({ seconds, nanos }: { readonly seconds: bigint; readonly nanos: number }): bigint =>
  seconds * 1_000_000_000n + BigInt(nanos);

describe('the duration between two times', () => {
  it('is exact, and has seconds and nanos of one sign, as google.protobuf.Duration requires', () => {
    fc.assert(
      fc.property(instants, instants, (start, end) => {
        const duration = durationBetween(start, end)!;
        expect(nanosIn(duration)).toBe(nanosIn(end) - nanosIn(start));
        expect(Math.sign(Number(duration.seconds)) * Math.sign(duration.nanos)).not.toBe(-1);
        expect(Math.abs(duration.nanos)).toBeLessThan(1_000_000_000);
      }),
    );
  });

  it('is undefined without a start', () => {
    expect(durationBetween(undefined, { seconds: 1n, nanos: 0 })).toBeUndefined();
  });
});

describe('a time as the value of a field', () => {
  it('is a number that stores keep exactly, and so is the difference of two', () => {
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        expect(Number.isSafeInteger(microsOf(a))).toBe(true);
        expect(Number.isSafeInteger(microsOf(a)! - microsOf(b)!)).toBe(true);
        expect(Number.isSafeInteger(microsOf(durationBetween(a, b)))).toBe(true);
      }),
    );
  });

  it('keeps the order of times', () => {
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        const [first, second] = nanosIn(a) <= nanosIn(b) ? [a, b] : [b, a];
        expect(microsOf(first)!).toBeLessThanOrEqual(microsOf(second)!);
      }),
    );
  });

  it.each([
    [{ seconds: 1n, nanos: 999_999_999 }, 1_999_999],
    [{ seconds: 0n, nanos: 0 }, 0],
    [{ seconds: -5n, nanos: 1_000 }, -4_999_999],
  ])('is whole microseconds since 1970: %o', (time, micros) => {
    expect(microsOf(time)).toBe(micros);
  });
});
