import type { Span } from '../../../proto/gen/platformidl/core/metrics_pb.js';
import { msOf } from '../../look/times.js';
import type { Range } from './tree.js';

/**
 * The kind of a stretch of time: work of the task, overhead of the engine, waiting, or `inside`, when no operation of
 * the node runs ({@link INSIDE}).
 */
type Spent = 'work' | 'overhead' | 'waiting' | 'inside';

/** A stretch of time that a node or the execution spent on one operation, in milliseconds since 1970. */
export type Segment = Range & { readonly operation: string; readonly spent: Spent };

/** The segments of each node, by its id; those of the execution itself by the empty id. */
export type Segments = ReadonlyMap<string, readonly Segment[]>;

const SPENT: Readonly<Record<string, Spent>> = {
  TASK_RUNTIME: 'work',
  NODE_TRANSITION: 'waiting',
  NODE_IDLE: 'waiting',
};

/** The segment of an operation; `undefined` also when it ends before its start, by the clocks of two computers. */
const segmentOf = ({ id, startTime, endTime }: Span): Segment | undefined => {
  const [from, to] = [msOf(startTime), msOf(endTime)];
  if (id.case !== 'operationId' || from === undefined || to === undefined || to < from) return undefined;
  return { from, to, operation: id.value, spent: SPENT[id.value] ?? 'overhead' };
};

/**
 * The time of a node that none of its operations takes: that of the nodes below it, of the elements of an array, or of
 * what it has launched.
 */
const INSIDE = { operation: 'INSIDE_THE_NODE', spent: 'inside' } as const;

const gapsOf = ({ startTime, endTime }: Span, segments: readonly Segment[]): readonly Segment[] => {
  const gaps: Segment[] = [];
  const end = msOf(endTime) ?? 0;
  let reached = msOf(startTime) ?? end;
  for (const { from, to } of [...segments.toSorted((one, other) => one.from - other.from), { from: end, to: end }]) {
    const until = Math.min(from, end);
    if (until > reached) gaps.push({ from: reached, to: until, ...INSIDE });
    reached = Math.max(reached, to);
  }
  return gaps;
};

/** Sorts the operations of an execution by node. Those of executions that its nodes have launched are left out. */
export const segmentsOf = (span: Span | undefined): Segments => {
  const segments = new Map<string, Segment[]>();
  const addNode = (node: Span, nodeId: string): void => {
    addAll(node.spans, nodeId);
    const known = segments.get(nodeId) ?? [];
    segments.set(nodeId, [...known, ...gapsOf(node, known)]);
  };
  const addAll = (spans: readonly Span[], nodeId: string): void => {
    for (const each of spans) {
      const segment = segmentOf(each);
      if (segment) segments.set(nodeId, [...(segments.get(nodeId) ?? []), segment]);
      else if (each.id.case === 'nodeId') addNode(each, each.id.value.nodeId);
      else if (each.id.case === 'taskId') addAll(each.spans, nodeId);
    }
  };
  addAll(span?.spans ?? [], '');
  return segments;
};

/**
 * The milliseconds that the execution and all its nodes together spent on each operation, the most first. Time inside
 * nodes is left out.
 */
export const totalsOf = (segments: Segments): readonly (readonly [operation: string, ms: number])[] => {
  const totals = new Map<string, number>();
  for (const { operation, spent, from, to } of [...segments.values()].flat())
    if (spent !== 'inside') totals.set(operation, (totals.get(operation) ?? 0) + to - from);
  return [...totals].sort(([, one], [, other]) => other - one);
};
