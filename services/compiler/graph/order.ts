/**
 * Ids in topological order, and one cycle when there is any. With a cycle, `sorted` contains only the ids that do not
 * depend on one.
 */
export type Order = { readonly sorted: readonly string[]; readonly cycle?: readonly string[] };

/** The most ids of a cycle that an error names. */
const MAX_SHOWN = 20;

/** Formats a cycle for people. */
export const cycleText = (names: readonly string[]): string =>
  [...names.slice(0, MAX_SHOWN), ...(names.length > MAX_SHOWN ? ['…'] : [])].join(' > ');

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

const waitersOf = (graph: Graph): ReadonlyMap<string, readonly string[]> => {
  const waiters = new Map<string, string[]>();
  for (const [id, upstream] of graph) {
    for (const each of upstream) {
      const known = waiters.get(each);
      if (known) known.push(id);
      else waiters.set(each, [id]);
    }
  }
  return waiters;
};

/**
 * Finds a cycle. Every id in `stuck` waits for an id in it, which may be itself, so walking backwards always returns to
 * an id that was passed before.
 */
const cycleIn = (graph: Graph, stuck: ReadonlySet<string>): readonly string[] => {
  const path = new Map<string, number>();
  let [id] = stuck;
  while (id !== undefined && !path.has(id)) {
    path.set(id, path.size);
    id = [...(graph.get(id) ?? [])].find((each) => stuck.has(each));
  }
  if (id === undefined) return [];
  const around = [...path.keys()].slice(path.get(id)).reverse();
  return [...around.slice(-1), ...around];
};

/**
 * Sorts a graph topologically. The graph maps each id to the ids that it waits for; ids that are not keys are ignored.
 * The sort is iterative, so that a chain of ten thousand nodes does not exhaust the call stack.
 */
export const topologicalOrder = (graph: Graph): Order => {
  const waiters = waitersOf(graph);
  const open = new Map(
    [...graph].map(([id, upstream]) => [id, [...upstream].filter((each) => graph.has(each)).length]),
  );
  const sorted = [...open].filter(([, count]) => count === 0).map(([id]) => id);
  for (const id of sorted) {
    for (const waiter of waiters.get(id) ?? []) {
      const left = (open.get(waiter) ?? 0) - 1;
      open.set(waiter, left);
      if (left === 0) sorted.push(waiter);
    }
  }
  if (sorted.length === graph.size) return { sorted };
  const done = new Set(sorted);
  return { sorted, cycle: cycleIn(graph, new Set([...graph.keys()].filter((id) => !done.has(id)))) };
};
