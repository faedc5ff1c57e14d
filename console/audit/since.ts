const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Text that does not begin with a date may still be one for `Date.parse`, such as `last 7`: July 2001. */
const DATE = /^\d{4}-\d{2}-\d{2}/u;

/**
 * Parses the beginning of a period: a time such as `2026-03-02T12:00:00Z`, or a duration before now such as `24h`.
 *
 * @returns milliseconds since 1970; `undefined` for other text, and for a duration of 0.
 */
export const sinceMs = (text: string, now: number): number | undefined => {
  const given = text.trim();
  const [, count = '', unit = ''] = /^(\d+)\s*([smhd])$/u.exec(given) ?? [];
  const length = Number(count) * (UNIT_MS[unit] ?? 0);
  if (length > 0) return now - length;
  const at = DATE.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
};
