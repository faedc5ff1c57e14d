import type { CSSProperties, ReactNode } from 'react';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { PhaseSign } from '../../look/phase-badge.js';
import { nodePhase, phaseText, toneOf } from '../../look/phases.js';
import { capitalEnumText } from '../../look/enum-text.js';
import { durationText } from '../../look/times.js';
import { kindOf } from './node-kind.js';
import type { SetOpen } from './node-list.js';
import { type Segment } from './time-spent.js';
import { idOf, specIdOf, type Range, timeOf, type TreeRow } from './tree.js';

const PERCENT = 100;
const INDENT_PX = 18;

const placeIn = (range: Range, from: number, to: number): CSSProperties => ({
  left: `${((from - range.from) / (range.to - range.from)) * PERCENT}%`,
  width: `max(3px, ${((to - from) / (range.to - range.from)) * PERCENT}%)`,
});

type BarProps = {
  readonly node: NodeExecution;
  readonly range: Range;
  readonly now: number;
  readonly segments: readonly Segment[] | undefined;
};

const Bar = ({ node, range, now, segments }: BarProps): ReactNode => {
  const time = timeOf(node, now);
  if (segments)
    return (
      <span className="bar-track">
        {segments.map(({ from, to, operation, spent }, index) => (
          <span
            key={index} // one operation may be there twice at one moment
            className={`bar ${spent}`}
            style={placeIn(range, from, to)}
            title={`${capitalEnumText(operation)} ${durationText(to - from)}`}
          />
        ))}
      </span>
    );
  if (!time) return null;
  return (
    <span className="bar-track">
      <span className="bar queued" style={placeIn(range, time.from, time.started)} />
      <span className="bar" style={placeIn(range, time.started, time.to)} />
    </span>
  );
};

type NodeRowProps = BarProps & {
  readonly row: TreeRow;
  /** The name that its author gave to the node; `undefined` where it has none. */
  readonly name: string | undefined;
  readonly top: number;
  readonly isChosen: boolean;
  readonly choose: (nodeId: string) => void;
  readonly setOpen: SetOpen;
};

/** A node in the tree, with its time on the axis. */
export const NodeRow = ({
  row: { node, depth, isOpen },
  name,
  range,
  now,
  segments,
  top,
  isChosen,
  choose,
  setOpen,
}: Omit<NodeRowProps, 'node'>): ReactNode => {
  const nodeId = idOf(node);
  const phase = nodePhase(node.closure?.phase);
  const time = timeOf(node, now);
  const kind = kindOf(node);
  return (
    <li className={`node tone-${toneOf(phase)}`} style={{ transform: `translateY(${top}px)` }}>
      <span className="node-name" style={{ paddingLeft: `${depth * INDENT_PX}px` }}>
        {node.metadata?.isParentNode === true ? (
          <button
            type="button"
            className="twist"
            aria-expanded={isOpen}
            aria-label={`Nodes below ${nodeId}`}
            onClick={() => setOpen(nodeId, !isOpen)}
          >
            {isOpen ? '▾' : '▸'}
          </button>
        ) : (
          <span className="twist" />
        )}
        <button
          type="button"
          className="node-choose"
          aria-pressed={isChosen}
          title={name === undefined ? undefined : `${name}, ${nodeId}`}
          onClick={() => choose(nodeId)}
        >
          <PhaseSign tone={toneOf(phase)} />
          {name !== undefined && <span className="node-label">{name}</span>}
          <span className="node-id">{specIdOf(node)}</span>
          <span className="visually-hidden">{phaseText(phase)}</span>
          {kind !== '' && <span className="label">{kind}</span>}
        </button>
      </span>
      <Bar {...{ node, range, now, segments }} />
      <span className="node-time" title={time && `after ${durationText(time.started - time.from)} in the queue`}>
        {time && durationText(time.to - time.started)}
      </span>
    </li>
  );
};
