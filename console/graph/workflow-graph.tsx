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
import { type GraphNode, elementsOf } from './elements.js';
import { LargeGraph } from './large-graph.js';
import { type Direction, layoutOf } from './layout.js';
import { NODE, type Positions } from './positions.js';
import type { Phases, ShownWorkflow } from './shown-workflow.js';

type FlowNode = Node<
  { readonly node: GraphNode; readonly phase: string | undefined; readonly isChosen: boolean },
  'box'
>;

/** A graph goes down on a narrow screen, and to the right on a wide one. */
const directionOfScreen = (): Direction => (matchMedia('(max-width: 820px)').matches ? 'DOWN' : 'RIGHT');

const SIDES = {
  RIGHT: { targetPosition: Position.Left, sourcePosition: Position.Right },
  DOWN: { targetPosition: Position.Top, sourcePosition: Position.Bottom },
} as const;

const Box = ({ data, targetPosition, sourcePosition }: NodeProps<FlowNode>): ReactNode => {
  const { node, phase, isChosen } = data;
  return (
    <div className={`box tone-${toneOf(phase ?? '')} ${phase === undefined ? 'idle' : ''} ${isChosen ? 'chosen' : ''}`}>
      <Handle type="target" position={targetPosition ?? Position.Left} isConnectable={false} />
      <span className="box-name">
        {phase !== undefined && <PhaseSign tone={toneOf(phase)} />}
        {node.name}
        {phase !== undefined && <span className="visually-hidden">{phaseText(phase)}</span>}
      </span>
      <small>{[node.kind, node.detail].filter(Boolean).join(' · ')}</small>
      <Handle type="source" position={sourcePosition ?? Position.Right} isConnectable={false} />
    </div>
  );
};

const TYPES = { box: Box };

type Layout = { readonly positions: Positions; readonly direction: Direction };

const nodesOf = ({ elements, phases, chosen }: ShownWorkflow, { positions, direction }: Layout): FlowNode[] =>
  elements.nodes.map((node) => ({
    id: node.id,
    type: 'box',
    position: positions.get(node.id) ?? { x: 0, y: 0 },
    data: { node, phase: phases?.get(node.id), isChosen: node.id === chosen },
    ...NODE,
    ...SIDES[direction],
    ariaLabel: `${node.name} ${node.kind}`,
  }));

/** Makes the edges; in an execution, an edge to a node without reports is marked as not taken. */
const edgesOf = ({ elements, phases }: ShownWorkflow): Edge[] =>
  elements.lines.map(({ id, from, to }) => ({
    id,
    source: from,
    target: to,
    markerEnd: { type: MarkerType.ArrowClosed },
    className: phases && !phases.has(to) ? 'not-taken' : '',
    focusable: false,
  }));

/** Above this number of nodes, the layout and the elements of the page would take seconds. */
const MAX_NODES = 200;

type FlowGraphProps = ShownWorkflow & { readonly choose: ((nodeId: string) => void) | undefined };

const FlowGraph = ({ elements, phases, chosen, choose }: FlowGraphProps): ReactNode => {
  const direction = directionOfScreen();
  const positions = useQuery({
    queryKey: ['graph-layout', direction, elements.nodes.map(({ id }) => id), elements.lines.map(({ id }) => id)],
    queryFn: () => layoutOf(elements, direction),
    staleTime: Infinity,
    meta: { fixed: true },
  });
  return (
    <QueryResult query={positions}>
      {(answer: Positions) => (
        <ReactFlow
          nodes={nodesOf({ elements, phases, chosen }, { positions: answer, direction })}
          edges={edgesOf({ elements, phases, chosen })}
          nodeTypes={TYPES}
          nodesDraggable={false}
          nodesConnectable={false}
          onlyRenderVisibleElements
          fitView
          minZoom={0.05}
          onNodesChange={(changes) => {
            // By a click, or by Enter on the node that has the focus.
            for (const change of changes) if (change.type === 'select' && change.selected) choose?.(change.id);
          }}
          proOptions={{ hideAttribution: true }}
        >
          <Background />
          <Controls showInteractive={false} />
        </ReactFlow>
      )}
    </QueryResult>
  );
};

type WorkflowGraphProps = {
  readonly workflow: CompiledWorkflow;
  readonly phases?: Phases;
  readonly chosen?: string | undefined;
  readonly choose?: (nodeId: string) => void;
};

/** Draws a workflow as a graph; with phases, the graph shows an execution of it. */
export const WorkflowGraph = ({ workflow, phases, chosen, choose }: WorkflowGraphProps): ReactNode => {
  const elements = useMemo(() => elementsOf(workflow), [workflow]);
  const Graph = elements.nodes.length > MAX_NODES ? LargeGraph : FlowGraph;
  return (
    <div className="card graph">
      <Graph elements={elements} phases={phases} chosen={chosen} choose={choose} />
    </div>
  );
};
