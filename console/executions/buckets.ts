/** The number of moments of each kind in one slice of time. */
export type Bucket<Kind extends string> = {
  /** In milliseconds since 1970; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly counts: Readonly<Partial<Record<Kind, number>>>;
};

/**
 * Divides the time from the first moment to the last into slices of the same length, in whole milliseconds rounded up,
 * and counts the moments in each; the last slices may be after the last moment.
 *
 * @returns the slices in ascending order; empty when there are no moments.
 */
export const bucketsOf = <Kind extends string>(
  moments: readonly { readonly at: number; readonly kind: Kind }[],
  slices: number,
): readonly Bucket<Kind>[] => {
  if (moments.length === 0) return [];
  const first = moments.reduce((least, { at }) => Math.min(least, at), Infinity);
  const last = moments.reduce((most, { at }) => Math.max(most, at), -Infinity);
  const width = Math.max(1, Math.ceil((last + 1 - first) / slices));
  const counts = Array.from({ length: slices }, (): Partial<Record<Kind, number>> => ({}));
  for (const { at, kind } of moments) {
    const count = counts[Math.floor((at - first) / width)];
    if (count) count[kind] = (count[kind] ?? 0) + 1;
  }
  return counts.map((each, index) => ({
    from: first + index * width,
    to: first + (index + 1) * width,
    counts: each,
  }));
};
