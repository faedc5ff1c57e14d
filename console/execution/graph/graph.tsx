import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { Phases } from '../../graph/shown-workflow.js';
import { WorkflowGraph } from '../../graph/workflow-graph.js';
import { QueryResult } from '../../look/query-result.js';
import { Empty } from '../../look/notes.js';
import { nodePhase } from '../../look/phases.js';
import { rpcQuery } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';
import { NodePanel } from '../node/node-panel.js';
import { type Children, specIdOf } from '../nodes/tree.js';
import { useTree } from '../nodes/use-tree.js';

const route = getRouteApi('/projects/$project/domains/$domain/executions/$name');

/** The nodes of the execution itself; those of nested workflows have graphs of their own. */
const phasesOf = (children: Children | undefined): Phases =>
  new Map((children?.get('') ?? []).map((node) => [specIdOf(node), nodePhase(node.closure?.phase)]));

type OfWorkflowProps = { readonly seen: ExecutionAsOf; readonly workflowId: Identifier };

const OfWorkflow = ({ seen, workflowId }: OfWorkflowProps): ReactNode => {
  const { node } = route.useSearch();
  const navigate = route.useNavigate();
  const workflow = useQuery(rpcQuery(AdminService.method.getWorkflow, { id: workflowId }));
  const { query } = useTree(seen);
  const phases = phasesOf(query.data);
  const choose = (nodeId: string): void => {
    if (phases.has(nodeId))
      void navigate({ search: (search) => ({ ...search, node: nodeId }), replace: true, resetScroll: false });
  };
  return (
    <QueryResult query={workflow}>
      {({ closure }) => {
        const primary = closure?.compiledWorkflow?.primary;
        if (!primary) return <Empty>The workflow has no compiled form.</Empty>;
        return (
          <div className="nodes">
            <WorkflowGraph workflow={primary} phases={phases} chosen={node} choose={choose} />
            {node !== undefined && phases.has(node) && <NodePanel key={node} {...seen} nodeId={node} />}
          </div>
        );
      }}
    </QueryResult>
  );
};

/** The workflow of an execution as a graph, with the phases of its nodes. */
export const Graph = (seen: ExecutionAsOf): ReactNode => {
  const execution = useQuery(rpcQuery(AdminService.method.getExecution, seen));
  return (
    <QueryResult query={execution}>
      {({ closure }) =>
        closure?.workflowId ? (
          <OfWorkflow seen={seen} workflowId={closure.workflowId} />
        ) : (
          <Empty>It has no workflow yet.</Empty>
        )
      }
    </QueryResult>
  );
};
