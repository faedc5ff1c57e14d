/** True for the attempts 1, 2, 4, 8 and so on, so that a failure that lasts is logged less and less often. */
export const isNotableAttempt = (times: number): boolean => Number.isInteger(Math.log2(times));
