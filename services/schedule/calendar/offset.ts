import { isTimestamp } from './ticks.js';

const ISO = /^([+-])?P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/u;
/** Weeks, days, hours, minutes and seconds. */
const UNITS_MS = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];

/**
 * The time that the kickoff argument gets for a tick: the time of the tick, later by an ISO 8601 duration such as
 * `PT1H`, or earlier by one with a minus before it. Years and months are counted on the calendar, in UTC. A text that
 * is no duration shifts nothing, because registration has never looked at it; nor does a duration that leads to a time
 * which timestamps cannot have.
 */
export const shifted = (tickMs: number, offset: string): number => {
  const found = ISO.exec(offset);
  if (!found) return tickMs;
  const parts: readonly (string | undefined)[] = found.slice(2);
  const [years = 0, months = 0, ...rest] = parts.map((part = '0') => Number(part));
  const sign = found[1] === '-' ? -1 : 1;
  const date = new Date(tickMs);
  date.setUTCFullYear(date.getUTCFullYear() + sign * years, date.getUTCMonth() + sign * months);
  const shift = rest.reduce((sum, amount, index) => sum + amount * (UNITS_MS[index] ?? 0), 0);
  const atMs = date.getTime() + sign * Math.round(shift);
  return isTimestamp(atMs) ? atMs : tickMs;
};
