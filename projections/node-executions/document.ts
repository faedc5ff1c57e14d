import { create } from '@bufbuild/protobuf';

import {
  type NodeExecution,
  type NodeExecutionClosure,
  NodeExecutionClosureSchema,
} from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import { type ExecutionError, NodeExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { clip } from '../query/clip.js';
import { inferredEnd, SUCCEEDED } from '../query/inferred-end.js';

/** A node execution, folded from its events. */
export type NodeDocument = {
  /** The closure has the last result that the engine reported, in any phase. */
  readonly node: NodeExecution;
  /** Key of the node or task execution that it belongs to; empty for a node of the workflow itself. */
  readonly parent: string;
  /** Key of the task execution that created this node; empty for most nodes. */
  readonly parentTask: string;
  /** Position of its first event. */
  readonly recorded: number;
  /** Phase in which the execution ended while this node was open; empty once the engine has reported the node's end. */
  closedBy: string;
  /** Revisions of the events that contain the inputs, the outputs and the dynamic workflow themselves. */
  inputsRevision: number | null;
  outputsRevision: number | null;
  dynamicWorkflowRevision: number | null;
};

/** Final phases. */
export const TERMINAL: ReadonlySet<Phase> = new Set([
  Phase.SUCCEEDED,
  Phase.FAILED,
  Phase.ABORTED,
  Phase.SKIPPED,
  Phase.TIMED_OUT,
  Phase.RECOVERED,
]);
const GOOD: ReadonlySet<Phase> = new Set([Phase.SUCCEEDED, Phase.SKIPPED, Phase.RECOVERED]);

/** The closure, created when it is missing. */
export const closureOf = (node: NodeExecution): NodeExecutionClosure =>
  (node.closure ??= create(NodeExecutionClosureSchema));

type Result = NodeExecutionClosure['outputResult'];

const NONE: Result = { case: undefined };

const errorResult = (value: ExecutionError): Extract<Result, { case: 'error' }> => ({ case: 'error', value });

/**
 * Result of a node that was still open when its execution ended: an error, except after a success, which did not need
 * the node.
 */
const inferredResult = (closedBy: string): Result =>
  closedBy === SUCCEEDED ? NONE : errorResult(inferredEnd(closedBy));

/** The result shown to readers: only after the node has ended, and no earlier error once the node has ended well. */
const shownResult = ({ node, closedBy }: NodeDocument): Result => {
  if (closedBy) return inferredResult(closedBy);
  const { phase, outputResult: result } = closureOf(node);
  return TERMINAL.has(phase) && !(GOOD.has(phase) && result.case === 'error') ? result : NONE;
};

const withResult = (node: NodeExecution, outputResult: Result): NodeExecution => ({
  ...node,
  closure: { ...closureOf(node), outputResult },
});

/** The node execution as Get returns it; the document's own message when nothing has to be hidden. */
export const getAnswer = (document: NodeDocument): NodeExecution => {
  const result = shownResult(document);
  const { outputResult: kept } = closureOf(document.node);
  const isKept = result === kept || (result.case === undefined && kept.case === undefined);
  return isKept ? document.node : withResult(document.node, result);
};

/** The node execution as lists return it: errors shortened, outputs omitted. */
export const listElement = (node: NodeExecution): NodeExecution => {
  const { outputResult: result } = closureOf(node);
  if (result.case === 'outputData') return withResult(node, NONE);
  if (result.case !== 'error') return node;
  const message = clip(result.value.message);
  return message === result.value.message ? node : withResult(node, errorResult({ ...result.value, message }));
};
