import './nodes.css';

import { getRouteApi } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useMemo, useRef } from 'react';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { QueryResult } from '../../look/query-result.js';
import { Empty } from '../../look/notes.js';
import { useNow } from '../../look/now.js';
import { msOf } from '../../look/times.js';
import { nodePhase, toneOf } from '../../look/phases.js';
import type { ExecutionAsOf } from '../moment.js';
import { NodePanel } from '../node/node-panel.js';
import { NodeRow } from './node-row.js';
import { TimeAxis } from './time-axis.js';
import { type Children, idOf, rangeOf, rowsOf, type TreeRow } from './tree.js';
import { useTree } from './use-tree.js';

const ROW_PX = 36;
const OVERSCAN = 20;

const route = getRouteApi('/projects/$project/domains/$domain/executions/$name');

/** The right end of the time axis: the present, or for a past state the last update of any node. */
const useAxisEnd = (nodes: readonly NodeExecution[], asOf: string): number => {
  const now = useNow();
  return asOf === '' ? now : nodes.reduce((last, { closure }) => Math.max(last, msOf(closure?.updatedAt) ?? 0), 0);
};

/** The failed node that is open at first: the deepest one, because its parents fail with it. */
const failedAmong = (rows: readonly TreeRow[]): string | undefined => {
  const failed = rows.filter(({ node }) => toneOf(nodePhase(node.closure?.phase)) === 'bad');
  return failed.toSorted((one, other) => other.depth - one.depth)[0]?.node.id?.nodeId;
};

type ChartProps = {
  readonly rows: readonly TreeRow[];
  readonly asOf: string;
  readonly chosen: string | undefined;
  readonly choose: (nodeId: string) => void;
  readonly toggle: (nodeId: string) => void;
};

const Chart = ({ rows, asOf, chosen, choose, toggle }: ChartProps): ReactNode => {
  const nodes = useMemo(() => rows.map(({ node }) => node), [rows]);
  const now = useAxisEnd(nodes, asOf);
  const range = rangeOf(nodes, now);
  const scrollRef = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scrollRef.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
  });
  return (
    <div className="card chart">
      <TimeAxis range={range} />
      <div ref={scrollRef} className="chart-scroll">
        <ul style={{ height: `${virtualizer.getTotalSize()}px` }} aria-label="Nodes">
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            if (!row) return null;
            const nodeId = idOf(row.node);
            return (
              <NodeRow key={nodeId} {...{ row, range, now, top: start, choose, toggle }} isChosen={nodeId === chosen} />
            );
          })}
        </ul>
      </div>
    </div>
  );
};

/** The tree of nodes with their times, and the chosen node beside it. */
export const Nodes = (seen: ExecutionAsOf): ReactNode => {
  const { node } = route.useSearch();
  const navigate = route.useNavigate();
  const { query, toggle } = useTree(seen);
  const choose = (nodeId: string): void =>
    void navigate({ search: (search) => ({ ...search, node: nodeId }), replace: true, resetScroll: false });
  return (
    <QueryResult query={query}>
      {(children: Children) => {
        const rows = rowsOf(children);
        if (rows.length === 0) return <Empty>No node has been reported yet.</Empty>;
        const chosen = node ?? failedAmong(rows);
        return (
          <div className="nodes">
            <Chart {...{ rows, chosen, choose, toggle }} asOf={seen.asOf} />
            {chosen !== undefined && <NodePanel key={chosen} id={seen.id} asOf={seen.asOf} nodeId={chosen} />}
          </div>
        );
      }}
    </QueryResult>
  );
};
