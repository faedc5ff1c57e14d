import type { Aggregate, Urgency } from '../kernel/aggregate.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import { type StreamName, streamName } from '../kernel/stream.js';
import type { ExecutionCommand } from './commands.js';
import { executionDecider } from './decider.js';
import type { Envelope, ExecutionId } from './wire/envelope.js';
import { EXECUTION_CATEGORY, executionCodec, type ExecutionEvent } from './events.js';
import { isTerminal } from './phases.js';
import { recall } from './recall.js';
import { type ExecutionRefusal, isForGood } from './refusals.js';
import { type ExecutionState, sizeOfState } from './state.js';

export type ExecutionAggregate = Aggregate<ExecutionState, ExecutionCommand, ExecutionEvent, ExecutionRefusal>;

export const executionStream = ({ project, domain, name }: ExecutionId): StreamName =>
  streamName(EXECUTION_CATEGORY, [project, domain, name]);

/** Which of the execution, its nodes and its tasks an event is about. */
const entityText = ({ entity, nodeId, taskId, retryAttempt }: Envelope): string =>
  entity === 'workflow' ? '' : JSON.stringify([nodeId, taskId, retryAttempt]);

/** An execution is about itself, its nodes and tasks, and its signals. */
const targetOf = (command: ExecutionCommand): string => {
  if (command.type === 'ReportPhase') return entityText(command.envelope);
  return command.type === 'CreateSignal' || command.type === 'SetSignal' ? JSON.stringify([command.signalId]) : '';
};

/** Where something ends, room is made: that is never turned away. */
const urgencyOf = (command: ExecutionCommand): Urgency => {
  if (command.type === 'CreateExecution') return 'start';
  if (command.type !== 'ReportPhase') return command.type === 'UpdateExecution' ? 'progress' : 'end';
  return isTerminal(command.envelope.entity, command.envelope.phase) ? 'end' : 'progress';
};

/** Executions with their nodes and tasks. Large messages are read back from the payloads when an event may be a repetition. */
export const executionAggregate = ({ payloads }: { readonly payloads: PayloadStore }): ExecutionAggregate => ({
  category: EXECUTION_CATEGORY,
  decider: executionDecider,
  codec: executionCodec,
  urgencyOf,
  begins: ({ type }) => type === 'CreateExecution',
  payloadScope: ({ id }) => `runs/${id.project}/${id.domain}/${id.name}`,
  targetOf,
  isForGood,
  sizeOf: sizeOfState,
  isOver: ({ phase }) => isTerminal('workflow', phase),
  recall: (command, past) => recall(command, past, payloads),
});
