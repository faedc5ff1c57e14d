import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { CompiledWorkflow, CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { drawnNodesOf } from '../../graph/elements.js';
import { WorkflowGraph } from '../../graph/workflow-graph.js';
import { QueryResult } from '../../look/query-result.js';
import { Empty } from '../../look/notes.js';
import { nodePhase } from '../../look/phases.js';
import { rpcQuery } from '../../server/queries.js';
import { subWorkflowOf } from '../compiled-nodes.js';
import type { ExecutionAsOf } from '../moment.js';
import { NodePanel } from '../node/node-panel.js';
import { idOf, specIdOf } from '../nodes/tree.js';
import { type DrawnNodes, openedBy, useDrawnNodes } from './drawn-nodes.js';

const route = getRouteApi('/projects/$project/domains/$domain/executions/$name');

type LayerProps = {
  readonly seen: ExecutionAsOf;
  readonly closure: CompiledWorkflowClosure;
  readonly workflow: CompiledWorkflow;
  /** The node that runs the workflow; empty for that of the execution. */
  readonly parent: string;
};

/** The workflow that a node runs inside its workflow; `undefined` for other nodes. */
const workflowIn = (node: NodeExecution, { closure, workflow }: LayerProps): CompiledWorkflow | undefined => {
  const compiled = drawnNodesOf(workflow).find(({ id }) => id === specIdOf(node));
  return compiled && subWorkflowOf(compiled, closure);
};

type InsideProps = { readonly layer: LayerProps; readonly node: NodeExecution };

const InsideDynamic = ({ layer: { seen }, node }: InsideProps): ReactNode => {
  const planned = useQuery(rpcQuery(AdminService.method.getDynamicNodeWorkflow, { id: node.id }));
  const closure = planned.data?.compiledWorkflow;
  return closure?.primary && <Layer seen={seen} closure={closure} workflow={closure.primary} parent={idOf(node)} />;
};

/** The graph of the workflow that a node runs: a nested one, or the one that a dynamic node has planned. */
const Inside = ({ layer, node }: InsideProps): ReactNode => {
  if (node.metadata?.isDynamic === true) return <InsideDynamic layer={layer} node={node} />;
  const workflow = workflowIn(node, layer);
  return workflow && <Layer seen={layer.seen} closure={layer.closure} workflow={workflow} parent={idOf(node)} />;
};

const Drawn = ({ layer, drawn }: { readonly layer: LayerProps; readonly drawn: DrawnNodes }): ReactNode => {
  const { node: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const opened = openedBy(drawn, chosen);
  const choose = (id: string): void => {
    const node = drawn.get(id);
    if (node) void navigate({ search: (all) => ({ ...all, node: idOf(node) }), replace: true, resetScroll: false });
  };
  return (
    <>
      {layer.parent !== '' && <h2>Inside {layer.parent}</h2>}
      <WorkflowGraph
        workflow={layer.workflow}
        phases={new Map([...drawn].map(([id, { closure }]) => [id, nodePhase(closure?.phase)]))}
        chosen={opened && specIdOf(opened)}
        choose={choose}
      />
      {opened && <Inside key={idOf(opened)} layer={layer} node={opened} />}
    </>
  );
};

/**
 * One workflow as a graph with the phases of its nodes. Below it is the workflow that a node of it runs: the chosen
 * node, or the one in which the chosen node is.
 */
const Layer = (layer: LayerProps): ReactNode => (
  <QueryResult query={useDrawnNodes(layer.seen, layer.workflow, layer.parent)}>
    {(drawn) => <Drawn layer={layer} drawn={drawn} />}
  </QueryResult>
);

type OfWorkflowProps = { readonly seen: ExecutionAsOf; readonly workflowId: Identifier };

const OfWorkflow = ({ seen, workflowId }: OfWorkflowProps): ReactNode => {
  const { node } = route.useSearch();
  const workflow = useQuery(rpcQuery(AdminService.method.getWorkflow, { id: workflowId }));
  return (
    <QueryResult query={workflow}>
      {({ closure }) => {
        const compiled = closure?.compiledWorkflow;
        if (!compiled?.primary) return <Empty>The workflow has no compiled form.</Empty>;
        return (
          <div className="nodes">
            <div className="graph-layers">
              <Layer seen={seen} closure={compiled} workflow={compiled.primary} parent="" />
            </div>
            {node !== undefined && <NodePanel key={node} {...seen} nodeId={node} />}
          </div>
        );
      }}
    </QueryResult>
  );
};

/** The workflow of an execution as a graph, and below it those inside the chosen node, with the phases of nodes. */
export const Graph = (seen: ExecutionAsOf): ReactNode => {
  const execution = useQuery(rpcQuery(AdminService.method.getExecution, seen));
  return (
    <QueryResult query={execution}>
      {({ closure }) =>
        closure?.workflowId ? (
          <OfWorkflow seen={seen} workflowId={closure.workflowId} />
        ) : (
          <Empty>The execution has no workflow.</Empty>
        )
      }
    </QueryResult>
  );
};
