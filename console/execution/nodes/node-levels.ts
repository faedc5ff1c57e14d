import { createContext, useContext } from 'react';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { ask } from '../../server/call.js';
import type { LiveListener } from '../../server/live.js';
import type { ExecutionAsOf } from '../moment.js';
import { changedNodes, type NodeEvent } from './changed-nodes.js';
import { idOf } from './tree.js';

const PAGE_NODES = 5_000;
const BEHIND_MS = 2_000;

/** The nodes below a parent, and the log position that they are known up to. */
type Level = { readonly nodes: readonly NodeExecution[]; readonly position: bigint };

type Asked = { readonly seen: ExecutionAsOf; readonly parent: string; readonly signal: AbortSignal };

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);

/** Reads the nodes below a parent that match the filters, page by page. */
const readLevel = async ({ seen: { id, asOf }, parent, signal }: Asked, filters = ''): Promise<Level> => {
  const request = { workflowExecutionId: id, uniqueParentId: parent, limit: PAGE_NODES, filters, asOf };
  const nodes: NodeExecution[] = [];
  let [token, known] = ['', undefined as bigint | undefined];
  do {
    const { message, position = 0n } = await ask(AdminService.method.listNodeExecutions, { ...request, token }, signal);
    nodes.push(...message.nodeExecutions);
    ({ token } = message);
    known = least(known ?? position, position);
  } while (token !== '');
  return { nodes, position: known };
};

/** Replaces nodes by those that were read again, in their places; new ones come after the others. */
const mergedNodes = (nodes: readonly NodeExecution[], read: readonly NodeExecution[]): readonly NodeExecution[] => {
  const byId = new Map(read.map((node) => [idOf(node), node]));
  const merged = nodes.map((node) => byId.get(idOf(node)) ?? node);
  for (const node of nodes) byId.delete(idOf(node));
  return [...merged, ...byId.values()];
};

/** The event of a message of the tail. Only reports of nodes and of their tasks say which node they are of. */
const nodeEventOf = ({ data, lastEventId }: MessageEvent<string>): NodeEvent => {
  const event = JSON.parse(data) as { readonly data?: { readonly node?: string } };
  return { position: BigInt(lastEventId), nodeId: event.data?.node };
};

/** The nodes of an execution that a page shows while it runs. */
export type NodeLevels = {
  /** Gives the nodes below a parent, or those of the execution itself by the empty id; reads only what has changed. */
  readonly read: (asked: Asked) => Promise<readonly NodeExecution[]>;
  /** The time after which queries of nodes ask again because the views were behind the events; an option of them. */
  readonly refetchInterval: () => number | false;
  readonly listener: LiveListener;
};

/** Keeps the nodes of an execution that were read, so that after an event only those that it has changed are read. */
export const nodeLevels = (): NodeLevels => {
  const changed = changedNodes();
  const levels = new Map<string, Level>();
  // The parents whose nodes were read from views that did not have all events yet.
  const behind = new Set<string>();
  const current = async (asked: Asked, before: Level | undefined): Promise<Level> => {
    const ids = before && changed.after(before.position);
    if (!before || !ids) return readLevel(asked);
    if (ids.length === 0) return before;
    const until = changed.last();
    const { nodes, position } = await readLevel(asked, `value_in(node_id,${ids.join(';')})`);
    // The page may not have received all events up to the position of the answer; the others change nodes, too.
    return { nodes: mergedNodes(before.nodes, nodes), position: least(position, until) };
  };
  return {
    read: async (asked) => {
      if (asked.seen.asOf !== '') return (await readLevel(asked)).nodes;
      const { parent } = asked;
      const until = changed.last();
      const level = await current(asked, levels.get(parent));
      levels.set(parent, level);
      if (level.position < until) behind.add(parent);
      else behind.delete(parent);
      return level.nodes;
    },
    refetchInterval: () => behind.size > 0 && BEHIND_MS,
    listener: {
      event: (message) => changed.add(nodeEventOf(message)),
      opened: changed.reset,
    },
  };
};

/** The nodes of the execution that the page shows. */
const Levels = createContext<NodeLevels>(nodeLevels());

export const NodeLevelsProvider = Levels.Provider;

export const useNodeLevels = (): NodeLevels => useContext(Levels);
