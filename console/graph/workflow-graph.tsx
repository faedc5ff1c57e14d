import '@xyflow/react/dist/style.css';
import './graph.css';

import { useQuery } from '@tanstack/react-query';
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from '@xyflow/react';
import { type ReactNode, useMemo } from 'react';

import type { CompiledWorkflow } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { QueryResult } from '../look/query-result.js';
import { PhaseSign } from '../look/phase-badge.js';
import { phaseText, toneOf } from '../look/phases.js';
import { type GraphNode, type Elements, elementsOf } from './elements.js';
import { NODE, type Positions, layoutOf } from './layout.js';

type FlowNode = Node<
  { readonly node: GraphNode; readonly phase: string | undefined; readonly isChosen: boolean },
  'box'
>;

const Box = ({ data: { node, phase, isChosen } }: NodeProps<FlowNode>): ReactNode => (
  <div className={`box tone-${toneOf(phase ?? '')} ${phase === undefined ? 'idle' : ''} ${isChosen ? 'chosen' : ''}`}>
    <Handle type="target" position={Position.Left} isConnectable={false} />
    <span className="box-name">
      {phase !== undefined && <PhaseSign tone={toneOf(phase)} />}
      {node.name}
      {phase !== undefined && <span className="visually-hidden">{phaseText(phase)}</span>}
    </span>
    <small>{[node.kind, node.detail].filter(Boolean).join(' · ')}</small>
    <Handle type="source" position={Position.Right} isConnectable={false} />
  </div>
);

const TYPES = { box: Box };

/** The phases of the nodes that have been reported, by the id of the node in the workflow. */
export type Phases = ReadonlyMap<string, string>;

type Drawing = {
  readonly elements: Elements;
  readonly phases: Phases | undefined;
  readonly chosen: string | undefined;
};

const nodesOf = ({ elements, phases, chosen }: Drawing, positions: Positions): FlowNode[] =>
  elements.nodes.map((node) => ({
    id: node.id,
    type: 'box',
    position: positions.get(node.id) ?? { x: 0, y: 0 },
    data: { node, phase: phases?.get(node.id), isChosen: node.id === chosen },
    ...NODE,
    ariaLabel: `${node.name} ${node.kind}`,
  }));

/** Makes the edges; an edge to a node without reports is marked as not taken. */
const edgesOf = ({ elements, phases }: Drawing): Edge[] =>
  elements.lines.map(({ id, from, to }) => ({
    id,
    source: from,
    target: to,
    markerEnd: { type: MarkerType.ArrowClosed },
    className: phases && !phases.has(to) ? 'not-taken' : '',
    focusable: false,
  }));

type WorkflowGraphProps = {
  readonly workflow: CompiledWorkflow;
  readonly phases?: Phases;
  readonly chosen?: string | undefined;
  readonly choose?: (nodeId: string) => void;
};

/** Draws a workflow as a graph; with phases, the graph shows an execution of it. */
export const WorkflowGraph = ({ workflow, phases, chosen, choose }: WorkflowGraphProps): ReactNode => {
  const elements = useMemo(() => elementsOf(workflow), [workflow]);
  const positions = useQuery({
    queryKey: ['graph-layout', elements.nodes.map(({ id }) => id), elements.lines.map(({ id }) => id)],
    queryFn: () => layoutOf(elements),
    staleTime: Infinity,
    meta: { fixed: true },
  });
  return (
    <div className="card graph">
      <QueryResult query={positions}>
        {(answer: Positions) => (
          <ReactFlow
            nodes={nodesOf({ elements, phases, chosen }, answer)}
            edges={edgesOf({ elements, phases, chosen })}
            nodeTypes={TYPES}
            nodesDraggable={false}
            nodesConnectable={false}
            onlyRenderVisibleElements
            fitView
            minZoom={0.05}
            onNodeClick={(_event, { id }) => choose?.(id)}
            proOptions={{ hideAttribution: true }}
          >
            <Background />
            <Controls showInteractive={false} />
          </ReactFlow>
        )}
      </QueryResult>
    </div>
  );
};
