import type { ReportPhase } from '../commands.js';
import {
  acceptedReport,
  foreignProducer,
  isReplacedBy,
  earlierReport,
  refused,
  repeatedPhase,
  repeatedReport,
  type ExecutionDecision,
} from './report.js';
import type { Envelope } from '../wire/envelope.js';
import { isTerminal, NODE } from '../phases.js';
import { type ExecutionRefusal, taskNotFound } from '../refusals.js';
import { type ExecutionState, taskAttemptIn, type NodeState } from '../state.js';

const missingParentTask = (
  state: ExecutionState,
  { execution, parentTask }: Envelope,
): ExecutionRefusal | undefined => {
  if (parentTask === undefined) return undefined;
  const { nodeId, taskId, retryAttempt } = parentTask;
  const parent = parentTask.execution;
  const isInExecution =
    parent.project === execution.project && parent.domain === execution.domain && parent.name === execution.name;
  const task = isInExecution ? taskAttemptIn(state.nodes.get(nodeId), taskId, retryAttempt) : undefined;
  return task === undefined ? taskNotFound(nodeId, taskId, retryAttempt) : undefined;
};

const missingParent = (state: ExecutionState, envelope: Envelope): ExecutionRefusal | undefined => {
  const { parentNodeId } = envelope;
  if (parentNodeId !== undefined && !state.nodes.has(parentNodeId))
    return { kind: 'node-not-found', nodeId: parentNodeId };
  return missingParentTask(state, envelope);
};

const decideNew = (state: ExecutionState, command: ReportPhase): ExecutionDecision => {
  const { phase } = command.envelope;
  // Such a node would never be closed: open nodes were closed when the execution ended.
  if (isTerminal('workflow', state.phase) && !isTerminal('node', phase))
    return refused({ kind: 'already-terminal', entity: 'node', current: NODE.ABORTED, to: phase });
  const refusal = missingParent(state, command.envelope);
  if (refusal !== undefined) return refused(refusal);
  return command.isChildKnown ? acceptedReport(command) : refused({ kind: 'child-not-found' });
};

/** The child of a repeated phase is checked, too, because the views keep the first child of a node. */
const decideKnown = (node: NodeState, command: ReportPhase): ExecutionDecision => {
  const { envelope, isChildKnown } = command;
  const { phase } = envelope;
  const isRepeated = !isReplacedBy(node, envelope) && node.phase === phase;
  if (!isReplacedBy(node, envelope) && !isRepeated && isTerminal('node', node.phase))
    return refused({ kind: 'already-terminal', entity: 'node', current: node.phase, to: phase });
  if (!isChildKnown) return refused({ kind: 'child-not-found' });
  return isRepeated ? repeatedPhase(command) : acceptedReport(command);
};

export const decideNodeReport = (state: ExecutionState, command: ReportPhase): ExecutionDecision => {
  const node = state.nodes.get(command.envelope.nodeId);
  const prior = earlierReport(state, node, command);
  if (prior === 'repeated') return repeatedReport(command);
  if (prior !== 'new') return prior;
  const foreign = foreignProducer(state, command);
  if (foreign !== undefined) return refused(foreign);
  return node === undefined ? decideNew(state, command) : decideKnown(node, command);
};
