import { create } from '@bufbuild/protobuf';
import { TerminationAnnouncedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { ReportPhase } from '../commands.js';
import {
  accepted,
  acceptedReport,
  foreignProducer,
  openEntities,
  priorOf,
  refused,
  repeatedPhase,
  repeatedReport,
  type Verdict,
} from './report.js';
import { isTerminal, WORKFLOW } from '../phases.js';
import type { ExecutionRefusal } from '../refusals.js';
import type { ExecutionState } from '../state.js';

/** The order of life; ABORTING stands outside, since it follows any phase that has not ended. */
const ORDER: Readonly<Record<number, number>> = {
  [WORKFLOW.QUEUED]: 1,
  [WORKFLOW.RUNNING]: 2,
  [WORKFLOW.SUCCEEDING]: 3,
  [WORKFLOW.FAILING]: 3,
};
const ENDED = 4;

const isBackwards = (from: number, to: number): boolean => {
  if (to === WORKFLOW.ABORTING) return false;
  if (from === WORKFLOW.FAILING && (to === WORKFLOW.SUCCEEDING || to === WORKFLOW.SUCCEEDED)) return true;
  return (ORDER[to] ?? ENDED) < (ORDER[from] ?? ENDED);
};

/** What keeps a workflow from going from one phase to another. */
const obstacle = (from: number, to: number): ExecutionRefusal | undefined => {
  if (isTerminal('workflow', from)) return { kind: 'already-terminal', entity: 'workflow', current: from, to };
  if (from === WORKFLOW.ABORTING) return isTerminal('workflow', to) ? undefined : { kind: 'aborting', to };
  if (from === WORKFLOW.RUNNING && to === WORKFLOW.QUEUED) return { kind: 'back-to-queued' };
  return isBackwards(from, to) ? { kind: 'phase-stale', from, to } : undefined;
};

/** The first QUEUED says that an engine has taken the execution; that of another producer, that it has taken it over. */
const decideQueued = (state: ExecutionState, command: ReportPhase): Verdict =>
  state.queuedBy === command.envelope.producerId ? repeatedPhase(command) : acceptedReport(command);

const decideSamePhase = (state: ExecutionState, command: ReportPhase): Verdict =>
  foreignProducer(state, command) === undefined ? repeatedPhase(command) : repeatedReport(command);

/** Who ends what engines do not end follows a rare event, not all that engines report. */
const announced = (command: ReportPhase): Verdict => {
  const report = acceptedReport(command);
  if (report.kind !== 'accepted') return report;
  const data = create(TerminationAnnouncedSchema, { id: command.id });
  return accepted(...report.events, { type: 'TerminationAnnounced', data });
};

/** An engine that was told to end what had outlived its limit says that it has aborted it. */
const asRecorded = ({ isTimedOut }: ExecutionState, command: ReportPhase): ReportPhase =>
  isTimedOut && command.envelope.phase === WORKFLOW.ABORTED
    ? { ...command, envelope: { ...command.envelope, phase: WORKFLOW.TIMED_OUT } }
    : command;

const decideStep = (state: ExecutionState, command: ReportPhase): Verdict => {
  const { phase } = command.envelope;
  const foreign = phase === WORKFLOW.QUEUED ? undefined : foreignProducer(state, command);
  const refusal = foreign ?? obstacle(state.phase, phase);
  if (refusal !== undefined) return refused(refusal);
  if (phase === WORKFLOW.ABORTING) return announced(command);
  return acceptedReport(command, isTerminal('workflow', phase) ? openEntities(state) : undefined);
};

export const decideWorkflow = (state: ExecutionState, reported: ReportPhase): Verdict => {
  const command = asRecorded(state, reported);
  const { phase } = command.envelope;
  const prior = priorOf(state, state, command);
  if (prior === 'repeated') return repeatedReport(command);
  if (prior !== 'new') return prior;
  if (phase !== state.phase) return decideStep(state, command);
  return phase === WORKFLOW.QUEUED ? decideQueued(state, command) : decideSamePhase(state, command);
};
