import { type Duration, type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';

const MS = 1_000;
const NANOS_A_MS = 1_000_000;
const MINUTE = 60;
const HOUR = 3_600;

/** A time in UTC with seconds, such as `2026-03-02T09:58:16Z`; empty without one. */
export const momentText = (at: Timestamp | undefined): string =>
  at === undefined
    ? ''
    : timestampDate(at)
        .toISOString()
        .replace(/\.\d+Z$/u, 'Z');

const two = (value: number): string => String(value).padStart(2, '0');

/** A length of time in at most two units, such as `1.57s`, `3m05s` or `2h10m`; empty without one. */
export const lengthText = (duration: Duration | undefined): string => {
  if (duration === undefined) return '';
  const seconds = Number(duration.seconds) + duration.nanos / NANOS_A_MS / MS;
  if (seconds < MINUTE) return `${seconds.toFixed(seconds < 10 ? 2 : 1)}s`;
  const whole = Math.floor(seconds);
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)}m${two(whole % MINUTE)}s`;
  return `${Math.floor(whole / HOUR)}h${two(Math.floor((whole % HOUR) / MINUTE))}m`;
};
