/** An entry with its due time, in milliseconds since 1970. */
export type Due = { readonly dueMs: number };

/** A priority queue: the entry with the earliest due time comes first; of several, the one that was pushed first. */
export interface DueQueue<Entry extends Due> {
  readonly size: () => number;
  readonly peek: () => Entry | undefined;
  readonly push: (entry: Entry) => void;
  readonly pop: () => Entry | undefined;
}

/** An entry in the heap. `order` counts the entries that were pushed before it. */
type Placed<Entry extends Due> = { readonly entry: Entry; readonly order: number };

const isBefore = (a: Placed<Due>, b: Placed<Due>): boolean =>
  a.entry.dueMs === b.entry.dueMs ? a.order < b.order : a.entry.dueMs < b.entry.dueMs;

/** Opens an empty queue, a binary heap: entry `at` comes before entries `2 * at + 1` and `2 * at + 2`. */
export const dueQueue = <Entry extends Due>(): DueQueue<Entry> => {
  const heap: Placed<Entry>[] = [];
  let pushed = 0;

  const firstChild = (at: number): number => {
    const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
    return left && right && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
  };

  const sink = (placed: Placed<Entry>): void => {
    let at = 0;
    for (;;) {
      const first = firstChild(at);
      const child = heap[first];
      if (child === undefined || isBefore(placed, child)) break;
      heap[at] = child;
      at = first;
    }
    heap[at] = placed;
  };

  return {
    size: () => heap.length,
    peek: () => heap[0]?.entry,
    push: (entry) => {
      const placed = { entry, order: pushed };
      pushed += 1;
      let at = heap.length;
      while (at > 0) {
        const parentAt = (at - 1) >> 1;
        const parent = heap[parentAt];
        if (parent === undefined || isBefore(parent, placed)) break;
        heap[at] = parent;
        at = parentAt;
      }
      heap[at] = placed;
    },
    pop: () => {
      const [first] = heap;
      const last = heap.pop();
      if (last !== undefined && heap.length > 0) sink(last);
      return first?.entry;
    },
  };
};
