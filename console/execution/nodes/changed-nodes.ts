/** Limits of the ids in one request, which are in its URL: their number, and the characters of all together. */
const MAX_IDS = 100;
const MAX_CHARACTERS = 4_000;

/** Characters that a list of values in a filter cannot have. */
const NOT_IN_FILTER = /[,;+()]/u;

/** The position of an event of the log, and the node that it has changed; `undefined` when it does not name a node. */
export type NodeEvent = { readonly position: bigint; readonly nodeId: string | undefined };

/** The nodes that the events of an execution have changed, as far as a page has followed them. */
export type ChangedNodes = {
  readonly add: (event: NodeEvent) => void;
  /** To be called when events may have been missed. */
  readonly reset: () => void;
  /** The position of the last event; 0n before the first one. */
  readonly last: () => bigint;
  /**
   * The ids of the nodes that have changed after a position, up to that of the last event; `undefined` when they are
   * not known or cannot be asked for in one request: then all nodes are to be read.
   */
  readonly after: (position: bigint) => readonly string[] | undefined;
};

const canBeAskedFor = (ids: readonly string[]): boolean =>
  ids.length <= MAX_IDS && ids.join(';').length <= MAX_CHARACTERS && !ids.some((id) => NOT_IN_FILTER.test(id));

/** Begins to collect the nodes that events change; nothing is known before the first event. */
export const changedNodes = (): ChangedNodes => {
  // The first event that was followed: what was recorded before it is not known.
  let first: bigint | undefined;
  let last = 0n;
  // The last event that is of no node, such as the end of the execution, which may change all of them.
  let whole = 0n;
  const byNode = new Map<string, bigint>();
  return {
    add: ({ position, nodeId }) => {
      first ??= position;
      last = position;
      if (nodeId === undefined) whole = position;
      else byNode.set(nodeId, position);
    },
    reset: () => {
      first = undefined;
      byNode.clear();
    },
    last: () => last,
    after: (position) => {
      if (first === undefined || position < first || position < whole) return undefined;
      const ids = [...byNode].flatMap(([id, at]) => (at > position ? [id] : []));
      return canBeAskedFor(ids) ? ids : undefined;
    },
  };
};
