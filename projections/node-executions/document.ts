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
  /** The closure has the result that the engine reported, in any phase. */
  readonly node: NodeExecution;
  /** Key of the node or task execution that it belongs to; empty for a node of the workflow itself. */
  readonly parent: string;
  /** Key of the task execution that created this node; empty for most nodes. */
  readonly parentTask: string;
  /** Position of its first event. */
  readonly recorded: number;
  /** Phase in which the execution ended while this node was open; empty once the engine has reported the node's end. */
  closedBy: string;
  /**
   * Revisions of the events that contain the values of the inputs and outputs and the dynamic workflow; `null` when
   * there are none, or when the engine reported only their location in its storage.
   */
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

/** Gives the closure of a node execution, and adds an empty one when there is none. */
export const closureOf = (node: NodeExecution): NodeExecutionClosure =>
  (node.closure ??= create(NodeExecutionClosureSchema));

type Result = NodeExecutionClosure['outputResult'];

const NONE: Result = { case: undefined };

const errorResult = (value: ExecutionError): Extract<Result, { case: 'error' }> => ({ case: 'error', value });

/**
 * Result of a node that was still open when its execution ended: an error, except after a success, which did not need
 * the node.
 */
const inferredResult = (closedBy: string, reported: Result): Result =>
  closedBy === SUCCEEDED
    ? NONE
    : errorResult(inferredEnd(closedBy, reported.case === 'error' ? reported.value : undefined));

/** The result shown to readers: only after the node has ended, and no earlier error once the node has ended well. */
const shownResult = ({ node, closedBy }: NodeDocument): Result => {
  const { phase, outputResult: result } = closureOf(node);
  if (closedBy) return inferredResult(closedBy, result);
  return TERMINAL.has(phase) && !(GOOD.has(phase) && result.case === 'error') ? result : NONE;
};

const withResult = (node: NodeExecution, outputResult: Result): NodeExecution => ({
  ...node,
  closure: { ...closureOf(node), outputResult },
});

/**
 * Makes the node execution that GetNodeExecution returns. When its result is shown, it is the stored node execution
 * itself, without a copy.
 */
export const getAnswer = (document: NodeDocument): NodeExecution => {
  const result = shownResult(document);
  const { outputResult: kept } = closureOf(document.node);
  const isKept = result === kept || (result.case === undefined && kept.case === undefined);
  return isKept ? document.node : withResult(document.node, result);
};

/**
 * Makes the node execution that lists return, from the one that `getAnswer` gives: the values of outputs are omitted,
 * and the message of an error is shortened.
 */
export const listElement = (node: NodeExecution): NodeExecution => {
  const { outputResult: result } = closureOf(node);
  if (result.case === 'outputData') return withResult(node, NONE);
  if (result.case !== 'error') return node;
  const message = clip(result.value.message);
  return message === result.value.message ? node : withResult(node, errorResult({ ...result.value, message }));
};
