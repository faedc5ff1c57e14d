/** Maximum number of concurrent copies. */
export const MAX_CONCURRENT_COPIES = 16;

/**
 * Runs `work` for each item, at most `limit` concurrently.
 *
 * @throws an error of `work`, after the work in progress has ended; after an error no further items are started.
 */
export const limitConcurrency = async <Item>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> => {
  const waiting = [...items].reverse();
  const worker = async (): Promise<void> => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
      try {
        await work(item);
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: limit }, worker));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
};
