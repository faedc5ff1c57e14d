const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Parses the beginning of a period: a time, or a duration before now such as `24h`.
 *
 * @returns milliseconds since 1970; `undefined` for other text.
 */
export const sinceMs = (text: string, now: number): number | undefined => {
  const [, count = '', unit = ''] = /^(\d+)\s*([smhd])$/u.exec(text.trim()) ?? [];
  const length = Number(count) * (UNIT_MS[unit] ?? 0);
  if (length > 0) return now - length;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
};
