import { type ReactNode, useMemo } from 'react';

import type { Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { QueryResult } from '../../look/query-result.js';
import { msOf } from '../../look/times.js';
import type { ExecutionAsOf } from '../moment.js';
import type { SetOpen } from '../nodes/node-list.js';
import { NodeTree } from '../nodes/nodes.js';
import { livesOf, nodesAt } from '../nodes/past-nodes.js';
import { allOf, type Children, rangeOf } from '../nodes/tree.js';
import { useTree } from '../nodes/use-tree.js';

type PastNodesProps = ExecutionAsOf & { readonly life: readonly Transition[]; readonly index: number };

type PresentProps = PastNodesProps & { readonly present: Children; readonly setOpen: SetOpen };

const Past = ({ life, index, present, ...props }: PresentProps): ReactNode => {
  const lives = useMemo(() => livesOf(life), [life]);
  const nodes = useMemo(() => nodesAt(present, lives, index), [present, lives, index]);
  const range = useMemo(() => rangeOf(allOf(present), msOf(life.at(-1)?.occurredAt) ?? 0), [present, life]);
  return <NodeTree {...props} nodes={nodes} clock={{ range, now: msOf(life[index]?.occurredAt) ?? 0 }} />;
};

/** The nodes of an execution after the transition at an index; the time axis stays that of its whole life. */
export const PastNodes = (props: PastNodesProps): ReactNode => {
  const { query, setOpen } = useTree({ id: props.id, asOf: '' });
  return (
    <QueryResult query={query}>
      {(present: Children) => <Past {...props} present={present} setOpen={setOpen} />}
    </QueryResult>
  );
};
