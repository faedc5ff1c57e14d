import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { CompiledWorkflow } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { Node } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { within } from '../../graph/elements.js';
import { queriesOf } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';
import { useNodeLevels } from '../nodes/node-levels.js';
import { idOf, specIdOf } from '../nodes/tree.js';

/** The nodes that were reported of a workflow, by their ids in the workflow. */
export type DrawnNodes = ReadonlyMap<string, NodeExecution>;

/** The nodes of a workflow that its graph draws: its own, and those inside its branches. */
export const nodesIn = ({ template }: CompiledWorkflow): readonly Node[] =>
  (template?.nodes ?? []).flatMap((node) => [node, ...within(node)]);

/** Reads the nodes that the graph of a workflow draws; those inside a branch are below the branch. */
export const useDrawnNodes = (
  seen: ExecutionAsOf,
  workflow: CompiledWorkflow,
  parent: string,
): UseQueryResult<DrawnNodes> => {
  const levels = useNodeLevels();
  return useQuery({
    queryKey: [...queriesOf(AdminService.method.listNodeExecutions), seen, 'graph', parent],
    queryFn: async ({ signal }) => {
      const branches = new Set(nodesIn(workflow).flatMap(({ id, target }) => (target.case === 'branchNode' ? id : [])));
      const drawn = new Map<string, NodeExecution>();
      const read = async (id: string): Promise<void> => {
        const nodes = await levels.read({ seen, parent: id, signal });
        for (const node of nodes) drawn.set(specIdOf(node), node);
        await Promise.all(nodes.filter((node) => branches.has(specIdOf(node))).map((node) => read(idOf(node))));
      };
      await read(parent);
      return drawn;
    },
    placeholderData: keepPreviousData,
    refetchInterval: levels.refetchInterval,
  });
};

/** The node of a graph that is chosen, or that has the chosen one below it: ids below a node begin with its id. */
export const openedBy = (drawn: DrawnNodes, chosen: string | undefined): NodeExecution | undefined =>
  [...drawn.values()]
    .filter((node) => chosen === idOf(node) || chosen?.startsWith(`${idOf(node)}-`) === true)
    .sort((one, other) => idOf(other).length - idOf(one).length)
    .at(0);
