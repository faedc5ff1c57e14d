import './nodes.css';

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useCallback, useMemo, useRef, useState } from 'react';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../../look/query-result.js';
import { Empty, FailureNote } from '../../look/notes.js';
import { useNow } from '../../look/now.js';
import { msOf } from '../../look/times.js';
import { nodePhase, toneOf } from '../../look/phases.js';
import { rpcQuery } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';
import { NodePanel } from '../node/node-panel.js';
import { NodeRow } from './node-row.js';
import { TimeAxis } from './time-axis.js';
import { type Segments, segmentsOf } from './time-spent.js';
import { TimeSpentBar } from './time-spent-bar.js';
import { allOf, type Children, idOf, type Range, rangeOf, rowsOf, type TreeRow } from './tree.js';
import type { SetOpen } from './node-list.js';
import type { NodeNames } from './node-names.js';
import { useNodeNames } from './use-node-names.js';
import { useTree } from './use-tree.js';

const ROW_PX = 36;
const OVERSCAN = 20;
const ALL_LEVELS = -1;

const route = getRouteApi('/projects/$project/domains/$domain/executions/$name');

/** The time that the bars of nodes are drawn by: the range of the axis, and the moment that is shown. */
export type Clock = { readonly range: Range; readonly now: number };

/** The clock of the present or, for a past state, of the last update of any node. */
const useClock = (nodes: readonly NodeExecution[], asOf: string): Clock => {
  const present = useNow();
  return useMemo(() => {
    const now =
      asOf === '' ? present : nodes.reduce((last, { closure }) => Math.max(last, msOf(closure?.updatedAt) ?? 0), 0);
    return { range: rangeOf(nodes, now), now };
  }, [nodes, asOf, present]);
};

/** The failed node that is open at first: the deepest one, because its parents fail with it. */
const failedAmong = (rows: readonly TreeRow[]): string | undefined => {
  const failed = rows.filter(({ node }) => toneOf(nodePhase(node.closure?.phase)) === 'bad');
  return failed.toSorted((one, other) => other.depth - one.depth)[0]?.node.id?.nodeId;
};

type ChartProps = Clock & {
  readonly rows: readonly TreeRow[];
  readonly names: NodeNames;
  /** The operations that are shown on the bars, instead of the phases. */
  readonly segments: Segments | undefined;
  readonly chosen: string | undefined;
  readonly choose: (nodeId: string) => void;
  readonly setOpen: SetOpen;
};

const Chart = ({ rows, names, range, now, segments, chosen, choose, setOpen }: ChartProps): ReactNode => {
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
              <NodeRow
                key={nodeId}
                {...{ row, range, now, top: start, choose, setOpen }}
                name={names.get(nodeId)}
                segments={segments?.get(nodeId)}
                isChosen={nodeId === chosen}
              />
            );
          })}
        </ul>
      </div>
    </div>
  );
};

type NodeTreeProps = ExecutionAsOf & {
  readonly nodes: Children;
  readonly clock: Clock;
  readonly segments?: Segments | undefined;
  readonly setOpen: SetOpen;
};

/** The tree of nodes with their times, and the chosen node beside it. */
export const NodeTree = ({ id, asOf, nodes, clock, segments, setOpen }: NodeTreeProps): ReactNode => {
  const { node } = route.useSearch();
  const navigate = route.useNavigate();
  const rows = useMemo(() => rowsOf(nodes), [nodes]);
  const names = useNodeNames(id, nodes);
  const choose = useCallback(
    (nodeId: string): void =>
      void navigate({ search: (search) => ({ ...search, node: nodeId }), replace: true, resetScroll: false }),
    [navigate],
  );
  if (rows.length === 0) return <Empty>No node has been reported yet.</Empty>;
  const chosen = node ?? failedAmong(rows);
  return (
    <div className="nodes">
      <Chart {...{ rows, names, ...clock, segments, chosen, choose, setOpen }} />
      {chosen !== undefined && <NodePanel key={chosen} id={id} asOf={asOf} nodeId={chosen} />}
    </div>
  );
};

type ReadTreeProps = Omit<NodeTreeProps, 'clock' | 'segments'>;

const ReadTree = (props: ReadTreeProps): ReactNode => {
  const { id, asOf, nodes } = props;
  const all = useMemo(() => allOf(nodes), [nodes]);
  const clock = useClock(all, asOf);
  const [isTimeShown, setTimeShown] = useState(false);
  const metrics = useQuery({
    ...rpcQuery(AdminService.method.getExecutionMetrics, { id, depth: ALL_LEVELS }),
    enabled: isTimeShown,
  });
  const segments = useMemo(
    () => (isTimeShown ? segmentsOf(metrics.data?.span) : undefined),
    [isTimeShown, metrics.data],
  );
  return (
    <>
      {asOf === '' && <TimeSpentBar segments={segments} toggle={() => setTimeShown(!isTimeShown)} />}
      {metrics.error && <FailureNote error={metrics.error} />}
      <NodeTree {...props} clock={clock} segments={segments} />
    </>
  );
};

/** The nodes of an execution, now or as of a moment. */
export const Nodes = (seen: ExecutionAsOf): ReactNode => {
  const { query, setOpen } = useTree(seen);
  return (
    <QueryResult query={query}>
      {(nodes: Children) => <ReadTree {...seen} nodes={nodes} setOpen={setOpen} />}
    </QueryResult>
  );
};
