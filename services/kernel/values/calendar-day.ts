/** True when the calendar has a day, written as `2026-03-02`: `Date.parse` takes February 30 as March 2. */
const isDay = (day: string): boolean => {
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
};

const TIME = /^(?<day>\d{4}-\d\d-\d\d)(?:$|[Tt ](?<hour>\d\d))/u;

/**
 * True for a date, or a date and time, that `Date.parse` or a decoder of JSON may take for another one: of a day that
 * its month does not have, or at 24:00.
 */
export const isMisreadTime = (text: string): boolean => {
  const { day, hour } = TIME.exec(text)?.groups ?? {};
  return day !== undefined && (hour === '24' || !isDay(day));
};
