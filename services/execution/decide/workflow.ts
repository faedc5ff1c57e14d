import { create } from '@bufbuild/protobuf';
import { TerminationAnnouncedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { ReportPhase } from '../commands.js';
import {
  accepted,
  acceptedReport,
  foreignProducer,
  openEntities,
  earlierReport,
  newReport,
  refused,
  repeatedPhase,
  repeatedReport,
  type ExecutionDecision,
} from './report.js';
import { isTerminal, WORKFLOW } from '../phases.js';
import type { ExecutionRefusal } from '../refusals.js';
import type { ExecutionState } from '../state.js';

/**
 * The rank of each phase in the life of a workflow. Terminal phases rank last (`ENDED`), and so does ABORTING, which
 * may follow any phase that is not terminal.
 */
const ORDER: Readonly<Record<number, number>> = {
  [WORKFLOW.QUEUED]: 1,
  [WORKFLOW.RUNNING]: 2,
  [WORKFLOW.SUCCEEDING]: 3,
  [WORKFLOW.FAILING]: 3,
};
const ENDED = 4;

const isBackwards = (from: number, to: number): boolean => {
  if (from === WORKFLOW.FAILING && (to === WORKFLOW.SUCCEEDING || to === WORKFLOW.SUCCEEDED)) return true;
  return (ORDER[to] ?? ENDED) < (ORDER[from] ?? ENDED);
};

/** The refusal of a phase change; `undefined` when the change is allowed. */
const obstacle = (from: number, to: number): ExecutionRefusal | undefined => {
  if (isTerminal('workflow', from)) return { kind: 'already-terminal', entity: 'workflow', current: from, to };
  if (from === WORKFLOW.ABORTING) return isTerminal('workflow', to) ? undefined : { kind: 'aborting', to };
  if (from === WORKFLOW.RUNNING && to === WORKFLOW.QUEUED) return { kind: 'back-to-queued' };
  return isBackwards(from, to) ? { kind: 'phase-stale', from, to } : undefined;
};

/**
 * The first QUEUED means that an engine has accepted the execution. A later QUEUED from another producer means that the
 * other producer has taken the execution over.
 */
const decideQueued = (state: ExecutionState, command: ReportPhase): ExecutionDecision =>
  state.queuedBy === command.envelope.producerId ? repeatedPhase(command) : acceptedReport(command);

const decideSamePhase = (state: ExecutionState, command: ReportPhase): ExecutionDecision =>
  foreignProducer(state, command) === undefined ? repeatedPhase(command) : repeatedReport(command);

/**
 * Adds `TerminationAnnounced`. The reactor that ends aborted executions, if their engine fails to, follows this rare
 * event instead of all reports.
 */
const announced = (command: ReportPhase): ExecutionDecision => {
  const data = create(TerminationAnnouncedSchema, { id: command.id });
  return accepted(newReport(command), { type: 'TerminationAnnounced', data });
};

/**
 * Records ABORTED as TIMED_OUT when the execution was terminated for its time limit: the engine cannot tell the two
 * apart.
 */
const asRecorded = ({ isTimedOut }: ExecutionState, command: ReportPhase): ReportPhase =>
  isTimedOut && command.envelope.phase === WORKFLOW.ABORTED
    ? { ...command, envelope: { ...command.envelope, phase: WORKFLOW.TIMED_OUT } }
    : command;

const decideStep = (state: ExecutionState, command: ReportPhase): ExecutionDecision => {
  const { phase } = command.envelope;
  const foreign = phase === WORKFLOW.QUEUED ? undefined : foreignProducer(state, command);
  const refusal = foreign ?? obstacle(state.phase, phase);
  if (refusal !== undefined) return refused(refusal);
  if (phase === WORKFLOW.ABORTING) return announced(command);
  return acceptedReport(command, isTerminal('workflow', phase) ? openEntities(state) : undefined);
};

/** Decides on a report of a phase of the workflow itself, not of a node or task. */
export const decideWorkflowReport = (state: ExecutionState, reported: ReportPhase): ExecutionDecision => {
  const command = asRecorded(state, reported);
  const { phase } = command.envelope;
  const prior = earlierReport(state, state, command);
  if (prior === 'repeated') return repeatedReport(command);
  if (prior !== 'new') return prior;
  if (phase !== state.phase) return decideStep(state, command);
  return phase === WORKFLOW.QUEUED ? decideQueued(state, command) : decideSamePhase(state, command);
};
