/** The value at a share of the ascending values: 0.99 for the 99th percentile, 1 for the last. 0 without values. */
export const percentile = (ascending: ArrayLike<number>, share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? 0;

/** The median of values in any order. */
export const median = (values: readonly number[]): number =>
  percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
