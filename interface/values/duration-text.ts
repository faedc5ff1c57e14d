import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema } from '@bufbuild/protobuf/wkt';

import { Problem } from './problem.js';

const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };
const PART = /(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/gu;
const WHOLE = /^\s*(?:\d+(?:\.\d+)?\s*(?:ms|[smhd])\s*)+$/u;
const NANOS = 1_000_000_000;

/**
 * A duration such as `1h 30m`, `90s` or `250ms`.
 *
 * @throws {Problem} for other text.
 */
export const durationOf = (text: string): Duration => {
  if (!WHOLE.test(text)) throw new Problem('write a duration such as 1h 30m, 90s or 250ms');
  const seconds = [...text.matchAll(PART)].reduce(
    (sum, [, count = '', unit = 's']) => sum + Number(count) * (SECONDS[unit] ?? 1),
    0,
  );
  const whole = Math.floor(seconds);
  return create(DurationSchema, { seconds: BigInt(whole), nanos: Math.round((seconds - whole) * NANOS) });
};

/** A duration as {@link durationOf} reads it. */
export const textOfDuration = ({ seconds, nanos }: Duration): string =>
  nanos === 0 ? `${seconds}s` : `${Number(seconds) + nanos / NANOS}s`;
