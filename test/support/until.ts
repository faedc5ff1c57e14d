import { inspect } from 'node:util';

const PAUSE_MS = 20;
/** No state takes this long, however busy the machine is. Less than the default timeout of end-to-end tests. */
const LIMIT_MS = 100_000;

/**
 * Polls until a value is as wanted, and returns it.
 *
 * @throws {Error} with the last value, when that takes longer than the limit.
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
    if (performance.now() > deadline) throw new Error(`waited too long; last was ${inspect(result)}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
};
