import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { CompiledWorkflow } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { drawnNodesOf } from '../../graph/elements.js';
import { queriesOf } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';
import { useShownLevels } from '../nodes/shown-levels.js';
import { idOf, specIdOf } from '../nodes/tree.js';

/** The nodes that were reported of a workflow, by their ids in the workflow. */
export type DrawnNodes = ReadonlyMap<string, NodeExecution>;

/** Reads the nodes that the graph of a workflow draws; those inside a branch are below the branch. */
export const useDrawnNodes = (
  seen: ExecutionAsOf,
  workflow: CompiledWorkflow,
  parent: string,
): UseQueryResult<DrawnNodes> => {
  const levels = useShownLevels();
  const branches = new Set(
    drawnNodesOf(workflow).flatMap(({ id, target }) => (target.case === 'branchNode' ? id : [])),
  );
  const branchesIn = (nodes: Iterable<NodeExecution>): readonly string[] =>
    [...nodes].filter((node) => branches.has(specIdOf(node))).map(idOf);
  return useQuery({
    queryKey: [...queriesOf(AdminService.method.listNodeExecutions), seen, 'graph', parent],
    queryFn: async ({ signal }) => {
      const drawn = new Map<string, NodeExecution>();
      const read = async (id: string): Promise<void> => {
        const nodes = await levels.read({ seen, parent: id, signal });
        for (const node of nodes) drawn.set(specIdOf(node), node);
        await Promise.all(branchesIn(nodes).map(read));
      };
      await read(parent);
      return drawn;
    },
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      levels.refetchInterval(seen, [parent, ...branchesIn(data?.values() ?? [])]),
  });
};

/**
 * The node of a graph that is chosen, or that the chosen node is below: ids below a node begin with its id, except long
 * ones, which engines hash. For a chosen node with such an id, only the node itself is found.
 */
export const openedBy = (drawn: DrawnNodes, chosen: string | undefined): NodeExecution | undefined =>
  [...drawn.values()]
    .filter((node) => chosen === idOf(node) || chosen?.startsWith(`${idOf(node)}-`) === true)
    .sort((one, other) => idOf(other).length - idOf(one).length)
    .at(0);
