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
import { isTerminal, TASK } from '../phases.js';
import { type ExecutionState, taskAttemptIn, type TaskAttemptState } from '../state.js';

/** A version above every reported version of the phase is new whatever its content, so nothing has to be compared. */
const priorOfTask = (
  state: ExecutionState,
  task: TaskAttemptState | undefined,
  command: ReportPhase,
): ReturnType<typeof earlierReport> => {
  const { phase, phaseVersion } = command.envelope;
  return phaseVersion > (task?.highest[phase] ?? -1) ? 'new' : earlierReport(state, task, command);
};

const decideKnown = (task: TaskAttemptState, command: ReportPhase): ExecutionDecision => {
  const { envelope } = command;
  const { phase, phaseVersion } = envelope;
  if (isReplacedBy(task, envelope)) return acceptedReport(command);
  if (task.phase === phase && phaseVersion <= task.version) return repeatedPhase(command);
  if (isTerminal('task', task.phase))
    return refused({ kind: 'already-terminal', entity: 'task', current: task.phase, to: phase });
  return acceptedReport(command);
};

/** A task that is first reported open after its execution has ended is refused: nothing would ever close it. */
const decideNew = (state: ExecutionState, command: ReportPhase): ExecutionDecision => {
  const { phase } = command.envelope;
  if (isTerminal('workflow', state.phase) && !isTerminal('task', phase))
    return refused({ kind: 'already-terminal', entity: 'task', current: TASK.ABORTED, to: phase });
  return acceptedReport(command);
};

export const decideTaskReport = (state: ExecutionState, command: ReportPhase): ExecutionDecision => {
  const { nodeId, taskId, retryAttempt } = command.envelope;
  const node = state.nodes.get(nodeId);
  const task = taskId === undefined ? undefined : taskAttemptIn(node, taskId, retryAttempt);
  const prior = priorOfTask(state, task, command);
  if (prior === 'repeated') return repeatedReport(command);
  if (prior !== 'new') return prior;
  const foreign = foreignProducer(state, command);
  if (foreign !== undefined) return refused(foreign);
  if (node === undefined) return refused({ kind: 'node-not-found', nodeId });
  return task === undefined ? decideNew(state, command) : decideKnown(task, command);
};
