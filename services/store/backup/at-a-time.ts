/** Copies that are under way together. */
export const COPIES_AT_A_TIME = 16;

/** Does some work for each item, for so many at a time; the first that fails ends it, when those under way are done. */
export const atATime = async <Item>(
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
