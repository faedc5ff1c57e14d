const ISO = /^([+-])?P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/u;

/**
 * The kickoff time of a tick: the tick, later by an ISO 8601 duration such as `PT1H`, or earlier by one with a minus
 * before it. Years and months are counted on the calendar, in UTC. A text that is no duration shifts nothing, because
 * registration has never looked at it.
 */
export const shifted = (tickMs: number, offset: string): number => {
  const found = ISO.exec(offset);
  if (!found) return tickMs;
  const parts: readonly (string | undefined)[] = found.slice(2);
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts.map((part = '0') =>
    Number(part),
  );
  const sign = found[1] === '-' ? -1 : 1;
  const date = new Date(tickMs);
  date.setUTCFullYear(date.getUTCFullYear() + sign * years, date.getUTCMonth() + sign * months);
  return date.getTime() + sign * ((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000;
};
