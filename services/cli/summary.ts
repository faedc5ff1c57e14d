/** The seconds since a time of `performance.now()`, rounded to milliseconds. */
export const secondsSince = (start: number): number => Number(((performance.now() - start) / 1_000).toFixed(3));

/** Prints the summary of what a command has done, as one JSON object in a line. */
export const printSummary = (summary: object): void => {
  process.stdout.write(`${JSON.stringify(summary)}\n`);
};
