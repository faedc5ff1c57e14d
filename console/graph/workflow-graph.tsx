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
import { Asked } from '../look/asked.js';
import { PhaseSign } from '../look/phase-badge.js';
import { phaseText, toneOf } from '../look/phases.js';
import { type Drawn, type Elements, elementsOf } from './elements.js';
import { NODE, type Places, placesOf } from './layout.js';

type Shown = Node<{ readonly drawn: Drawn; readonly phase: string | undefined; readonly isChosen: boolean }, 'drawn'>;

const Box = ({ data: { drawn, phase, isChosen } }: NodeProps<Shown>): ReactNode => (
  <div className={`box tone-${toneOf(phase ?? '')} ${phase === undefined ? 'idle' : ''} ${isChosen ? 'chosen' : ''}`}>
    <Handle type="target" position={Position.Left} isConnectable={false} />
    <span className="box-name">
      {phase !== undefined && <PhaseSign tone={toneOf(phase)} />}
      {drawn.name}
      {phase !== undefined && <span className="visually-hidden">{phaseText(phase)}</span>}
    </span>
    <small>{[drawn.kind, drawn.detail].filter(Boolean).join(' · ')}</small>
    <Handle type="source" position={Position.Right} isConnectable={false} />
  </div>
);

const TYPES = { drawn: Box };

/** The phases of the nodes that have been reported, by the id of the node in the workflow. */
export type Phases = ReadonlyMap<string, string>;

type Drawing = {
  readonly elements: Elements;
  readonly phases: Phases | undefined;
  readonly chosen: string | undefined;
};

const nodesOf = ({ elements, phases, chosen }: Drawing, places: Places): Shown[] =>
  elements.nodes.map((drawn) => ({
    id: drawn.id,
    type: 'drawn',
    position: places.get(drawn.id) ?? { x: 0, y: 0 },
    data: { drawn, phase: phases?.get(drawn.id), isChosen: drawn.id === chosen },
    ...NODE,
    ariaLabel: `${drawn.name} ${drawn.kind}`,
  }));

/** A line to a node that was not reported was not taken (yet). */
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

/** A workflow as a graph; with phases, as an execution of it. */
export const WorkflowGraph = ({ workflow, phases, chosen, choose }: WorkflowGraphProps): ReactNode => {
  const elements = useMemo(() => elementsOf(workflow), [workflow]);
  const places = useQuery({
    queryKey: ['places', elements.nodes.map(({ id }) => id), elements.lines.map(({ id }) => id)],
    queryFn: () => placesOf(elements),
    staleTime: Infinity,
    meta: { fixed: true },
  });
  return (
    <div className="card graph">
      <Asked query={places}>
        {(answer: Places) => (
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
      </Asked>
    </div>
  );
};
