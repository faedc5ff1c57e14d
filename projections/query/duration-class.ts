const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Where the next class begins. Hours are what the web console asks for, with and without the bound itself: so each is a
 * class of its own.
 */
const EDGES: readonly number[] = [
  ...[SECOND, 10 * SECOND],
  ...[1, 2, 5, 10, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4].flatMap((hours) => [hours * HOUR, hours * HOUR + 1]),
];

/** A duration's class, from 0 to 15: below a second, below ten and so on, and more than four hours. */
export const durationClass = (micros: number): number => {
  const next = EDGES.findIndex((edge) => micros < edge);
  return next < 0 ? EDGES.length : next;
};
