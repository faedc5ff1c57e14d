/** The value below which a share of the ascending values is; the last one for a share of 1, and 0 without values. */
export const percentile = (ascending: ArrayLike<number>, share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? 0;

/** The median of values in any order. */
export const median = (values: readonly number[]): number =>
  percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
