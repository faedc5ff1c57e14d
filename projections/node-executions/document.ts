import { create } from '@bufbuild/protobuf';

import {
  type NodeExecution,
  type NodeExecutionClosure,
  NodeExecutionClosureSchema,
} from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import { type ExecutionError, NodeExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { clip } from '../query/clip.js';
import { inferredEnd, SUCCEEDED } from '../query/inferred-end.js';

/** A node execution as its events have told it. */
export type NodeDocument = {
  /** The result in its closure is the last that the engine gave, in whatever phase. */
  readonly node: NodeExecution;
  /** Empty for a node of the workflow itself; else the node or the task execution that it belongs to. */
  readonly parent: string;
  /** The task execution that has made this node; empty for most. */
  readonly parentTask: string;
  /** The position of its first event. */
  readonly recorded: number;
  /** The phase in which the execution ended while this node was open; empty once the engine has said how it ended. */
  closedBy: string;
  /** Revisions of the events that carried inputs, outputs and the dynamic workflow themselves. */
  inputsAt: number | null;
  outputsAt: number | null;
  dynamicAt: number | null;
};

/** The phases that nothing leaves. */
export const TERMINAL: ReadonlySet<Phase> = new Set([
  Phase.SUCCEEDED,
  Phase.FAILED,
  Phase.ABORTED,
  Phase.SKIPPED,
  Phase.TIMED_OUT,
  Phase.RECOVERED,
]);
const GOOD: ReadonlySet<Phase> = new Set([Phase.SUCCEEDED, Phase.SKIPPED, Phase.RECOVERED]);

/** The closure, which every node execution has. */
export const closureOf = (node: NodeExecution): NodeExecutionClosure =>
  (node.closure ??= create(NodeExecutionClosureSchema));

type Result = NodeExecutionClosure['outputResult'];

const NONE: Result = { case: undefined };

const errorResult = (value: ExecutionError): Extract<Result, { case: 'error' }> => ({ case: 'error', value });

/** An execution that succeeded did not lack what was open at its end: no error says so. */
const inferredResult = (closedBy: string): Result =>
  closedBy === SUCCEEDED ? NONE : errorResult(inferredEnd(closedBy));

/** A result is for readers once the node has ended, and an earlier failure is not how a good end came about. */
const shownResult = ({ node, closedBy }: NodeDocument): Result => {
  if (closedBy) return inferredResult(closedBy);
  const { phase, outputResult: result } = closureOf(node);
  return TERMINAL.has(phase) && !(GOOD.has(phase) && result.case === 'error') ? result : NONE;
};

const withResult = (node: NodeExecution, outputResult: Result): NodeExecution => ({
  ...node,
  closure: { ...closureOf(node), outputResult },
});

/** The node execution as Get answers it; the document's own message when nothing of it is hidden. */
export const shown = (document: NodeDocument): NodeExecution => {
  const result = shownResult(document);
  const { outputResult: kept } = closureOf(document.node);
  const isKept = result === kept || (result.case === undefined && kept.case === undefined);
  return isKept ? document.node : withResult(document.node, result);
};

/** The node execution as lists show it: errors cut, outputs left out. */
export const listed = (node: NodeExecution): NodeExecution => {
  const { outputResult: result } = closureOf(node);
  if (result.case === 'outputData') return withResult(node, NONE);
  if (result.case !== 'error') return node;
  const message = clip(result.value.message);
  return message === result.value.message ? node : withResult(node, errorResult({ ...result.value, message }));
};
