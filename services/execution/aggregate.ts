import type { Aggregate, Urgency } from '../kernel/aggregate.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import type { ExecutionCommand } from './commands.js';
import { executionDecider } from './decider.js';
import type { Envelope } from './wire/envelope.js';
import { executionCodec, type ExecutionEvent } from './events.js';
import { isTerminal } from './phases.js';
import { compareWithRecorded } from './compare-with-recorded.js';
import { type ExecutionRefusal, isPermanentRefusal } from './refusals.js';
import { type ExecutionState, sizeOfState } from './state.js';
import { EXECUTION_CATEGORY } from '../kernel/execution-id.js';

export type ExecutionAggregate = Aggregate<ExecutionState, ExecutionCommand, ExecutionEvent, ExecutionRefusal>;

/**
 * Identifies, within the execution, the entity that an event is about: empty for the execution itself, else a key of
 * the node or task attempt.
 */
const entityKey = ({ entity, nodeId, taskId, retryAttempt }: Envelope): string =>
  entity === 'workflow' ? '' : JSON.stringify([nodeId, taskId, retryAttempt]);

/** The target of a command: a node, a task attempt, a signal, or (empty) the execution itself. */
const targetOf = (command: ExecutionCommand): string => {
  if (command.type === 'ReportPhase') return entityKey(command.envelope);
  return command.type === 'CreateSignal' || command.type === 'SetSignal' ? JSON.stringify([command.signalId]) : '';
};

/**
 * Admission control never rejects commands of the urgency `end`: those that end something free resources, and an
 * execution needs its signals and leases to get to its end.
 */
const URGENCIES: Readonly<Record<Exclude<ExecutionCommand['type'], 'ReportPhase'>, Urgency>> = {
  CreateExecution: 'start',
  VoidExecution: 'end',
  TerminateExecution: 'end',
  ExpireTermination: 'end',
  TimeOutExecution: 'end',
  UpdateExecution: 'progress',
  CreateSignal: 'end',
  SetSignal: 'end',
  LeaseWork: 'end',
  ReturnWork: 'end',
};

const urgencyOf = (command: ExecutionCommand): Urgency => {
  if (command.type !== 'ReportPhase') return URGENCIES[command.type];
  return isTerminal(command.envelope.entity, command.envelope.phase) ? 'end' : 'progress';
};

/**
 * The aggregate of an execution with its nodes and tasks. When a report may be a repetition, large messages are read
 * back from the payload store to compare them.
 */
export const executionAggregate = ({ payloads }: { readonly payloads: PayloadStore }): ExecutionAggregate => ({
  category: EXECUTION_CATEGORY,
  decider: executionDecider,
  codec: executionCodec,
  urgencyOf,
  createsStream: ({ type }) => type === 'CreateExecution',
  payloadScope: ({ id }) => `runs/${id.project}/${id.domain}/${id.name}`,
  targetOf,
  isPermanentRefusal,
  sizeOf: sizeOfState,
  isOver: ({ phase }) => isTerminal('workflow', phase),
  compareWithRecorded: (command, past) => compareWithRecorded(command, past, payloads),
});
