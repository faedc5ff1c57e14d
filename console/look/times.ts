import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampMs } from '@bufbuild/protobuf/wkt';

const NANOS_A_MS = 1_000_000;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Milliseconds since 1970; `undefined` where there is no time. */
export const msOf = (at: Timestamp | undefined): number | undefined => (at ? timestampMs(at) : undefined);

/** Milliseconds of a duration; `undefined` where there is none. */
export const lengthOf = (duration: Duration | undefined): number | undefined =>
  duration ? Number(duration.seconds) * SECOND + duration.nanos / NANOS_A_MS : undefined;

const two = (value: number): string => String(value).padStart(2, '0');

/** A length of time in at most two units: `1.57 s`, `3 min 05 s`, `2 h 10 min`. */
export const durationText = (ms: number): string => {
  // A unit is chosen by what is left after rounding: 999.6 ms is a second, and 59.97 s a minute.
  if (Math.round(ms) < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * SECOND - 5) return `${(ms / SECOND).toFixed(2)} s`;
  const rounded = ms + 50;
  if (rounded < MINUTE) return `${(ms / SECOND).toFixed(1)} s`;
  const seconds = Math.floor(rounded / SECOND);
  if (rounded < HOUR) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  if (rounded < DAY) return `${Math.floor(rounded / HOUR)} h ${two(Math.floor((rounded % HOUR) / MINUTE))} min`;
  return `${Math.floor(rounded / DAY)} d ${Math.floor((rounded % DAY) / HOUR)} h`;
};

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
  ['second', SECOND],
];

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** A moment as people say it: `3 minutes ago`. */
export const agoText = (ms: number, now: number): string => {
  const [unit, size] = UNITS.find(([, each]) => Math.abs(now - ms) >= each) ?? ['second', SECOND];
  return relative.format(-Math.trunc((now - ms) / size), unit);
};

/** A moment in UTC: `2026-03-02 09:58:16.706Z`. */
export const utcText = (ms: number): string => new Date(ms).toISOString().replace('T', ' ');

// Made once: to make one for each row took more than half of the time of a scrolled list.
const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A moment in the zone of the browser. */
export const localText = (ms: number): string => local.format(ms);

/** The time of day with milliseconds, in the zone of the browser. */
export const clockText = (ms: number): string => {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
};
