/** An entry with its due time, in milliseconds since 1970. */
export type Due = { readonly dueMs: number };

/** A priority queue: the entry with the earliest due time comes first. */
export interface DueQueue<Entry extends Due> {
  readonly size: () => number;
  readonly peek: () => Entry | undefined;
  readonly push: (entry: Entry) => void;
  readonly pop: () => Entry | undefined;
}

/** Opens an empty queue, a binary heap: entry `at` is due no later than entries `2 * at + 1` and `2 * at + 2`. */
export const dueQueue = <Entry extends Due>(): DueQueue<Entry> => {
  const heap: Entry[] = [];
  const dueAt = (at: number): number => heap[at]?.dueMs ?? Infinity;

  const sink = (entry: Entry): void => {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const first = dueAt(left) <= dueAt(left + 1) ? left : left + 1;
      const child = heap[first];
      if (child === undefined || child.dueMs >= entry.dueMs) break;
      heap[at] = child;
      at = first;
    }
    heap[at] = entry;
  };

  return {
    size: () => heap.length,
    peek: () => heap[0],
    push: (entry) => {
      let at = heap.length;
      for (let parent = (at - 1) >> 1; at > 0 && dueAt(parent) > entry.dueMs; parent = (at - 1) >> 1) {
        heap[at] = heap[parent] ?? entry;
        at = parent;
      }
      heap[at] = entry;
    },
    pop: () => {
      const [first] = heap;
      const last = heap.pop();
      if (last !== undefined && heap.length > 0) sink(last);
      return first;
    },
  };
};
