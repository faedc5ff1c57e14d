import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { ExecutionAsOf } from '../moment.js';
import { changedNodes, type NodeEvent } from './changed-nodes.js';
import { idOf } from './tree.js';

const BEHIND_MS = 2_000;

/** The nodes below a parent, and the log position that they are known up to. */
export type Level = { readonly nodes: readonly NodeExecution[]; readonly position: bigint };

/** A level that is asked for; the parent of the nodes of the execution itself is the empty id. */
export type AskedLevel = { readonly seen: ExecutionAsOf; readonly parent: string; readonly signal: AbortSignal };

/** Reads the nodes below a parent that match filters of the interface; all of them with empty filters. */
export type ReadLevel = (level: AskedLevel, filters: string) => Promise<Level>;

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);

/** Replaces nodes by those that were read again, in their places; new ones come after the others. */
const mergedNodes = (nodes: readonly NodeExecution[], read: readonly NodeExecution[]): readonly NodeExecution[] => {
  const byId = new Map(read.map((node) => [idOf(node), node]));
  const merged = nodes.map((node) => byId.get(idOf(node)) ?? node);
  for (const node of nodes) byId.delete(idOf(node));
  return [...merged, ...byId.values()];
};

/** A message of the tail: an event of the log as JSON, and its position. */
type TailMessage = { readonly data: string; readonly lastEventId: string };

/** The event of a message of the tail. Only reports of nodes and of their tasks say which node they are of. */
const nodeEventOf = ({ data, lastEventId }: TailMessage): NodeEvent => {
  const event = JSON.parse(data) as { readonly data?: { readonly node?: string } };
  return { position: BigInt(lastEventId), nodeId: event.data?.node };
};

/** The nodes of an execution that a page shows while it runs. */
export type NodeLevels = {
  /** Gives the nodes below a parent; reads only those that have changed, where these are known. */
  readonly read: (level: AskedLevel) => Promise<readonly NodeExecution[]>;
  /**
   * The time after which a query asks again, because the views were behind the events when it read the nodes below
   * these parents. A past state does not change: it is not asked for again.
   */
  readonly refetchInterval: (seen: ExecutionAsOf, parents: readonly string[]) => number | false;
  /** The listener for the events of the log that the page follows. */
  readonly listener: { readonly event: (message: TailMessage) => void; readonly opened: () => void };
};

/** Keeps the nodes of an execution that were read, so that after an event only those that it has changed are read. */
export const nodeLevels = (readLevel: ReadLevel): NodeLevels => {
  const changed = changedNodes();
  const levels = new Map<string, Level>();
  // The parents whose nodes were read from views that did not have all events yet.
  const behind = new Set<string>();
  const current = async (requested: AskedLevel, before: Level | undefined): Promise<Level> => {
    const ids = before && changed.after(before.position);
    if (!before || !ids) return readLevel(requested, '');
    if (ids.length === 0) return before;
    const until = changed.last();
    const { nodes, position } = await readLevel(requested, `value_in(node_id,${ids.join(';')})`);
    // The page may not have received all events up to the position of the answer; the others change nodes, too.
    return { nodes: mergedNodes(before.nodes, nodes), position: least(position, until) };
  };
  return {
    read: async (requested) => {
      if (requested.seen.asOf !== '') return (await readLevel(requested, '')).nodes;
      const { parent } = requested;
      const until = changed.last();
      const level = await current(requested, levels.get(parent));
      levels.set(parent, level);
      if (level.position < until) behind.add(parent);
      else behind.delete(parent);
      return level.nodes;
    },
    refetchInterval: ({ asOf }, parents) => asOf === '' && parents.some((parent) => behind.has(parent)) && BEHIND_MS,
    listener: {
      event: (message) => changed.add(nodeEventOf(message)),
      opened: changed.reset,
    },
  };
};
