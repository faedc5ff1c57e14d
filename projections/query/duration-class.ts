const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Lower bounds of classes 1 to 15, in microseconds. flyteconsole filters by whole hours, with and without the bound
 * itself, so each exact hour is a class of its own.
 */
const EDGES: readonly number[] = [
  ...[SECOND, 10 * SECOND],
  ...[1, 2, 5, 10, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4].flatMap((hours) => [hours * HOUR, hours * HOUR + 1]),
];

/** Class of a duration in microseconds, from 0 (below one second) to 15 (more than four hours). */
export const durationClass = (micros: number): number => {
  const next = EDGES.findIndex((edge) => micros < edge);
  return next < 0 ? EDGES.length : next;
};
