const PAUSE_MS = 20;
/** No state takes so long, however busy the machine is; an end-to-end test may take a little longer. */
const LIMIT_MS = 100_000;

/**
 * Reads again and again until what is read is as wanted, and answers it.
 *
 * @throws {Error} with what was read last, when that takes longer than the limit.
 */
export const until = async <Result>(
  read: () => Promise<Result>,
  isWanted: (result: Result) => boolean,
  limitMs = LIMIT_MS,
): Promise<Result> => {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const result = await read();
    if (isWanted(result)) return result;
    if (performance.now() > deadline) throw new Error(`waited too long; last was ${String(result)}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
};
