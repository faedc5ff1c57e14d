/** True when the calendar has a day, written as `2026-03-02`: `Date.parse` takes February 30 as March 2. */
export const isDay = (day: string): boolean => {
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
};
