import { create } from '@bufbuild/protobuf';

import { WorkflowExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ContentSchema } from '../../proto/gen/platformidl/eventlog/content_pb.js';
import {
  ExecutionExpiredSchema,
  ExecutionStateChangedSchema,
  ExecutionTaggedSchema,
  ExecutionVoidedSchema,
  TerminationRequestedSchema,
} from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { Decider } from '../kernel/aggregate.js';
import type {
  CreateExecution,
  ExecutionCommand,
  ExpireTermination,
  ReportPhase,
  TerminateExecution,
  TimeOutExecution,
  UpdateExecution,
  VoidExecution,
} from './commands.js';
import { decideLease, decideReturn, fenced } from './decide/lease.js';
import { decideNodeReport } from './decide/node.js';
import { accepted, openEntities, refused, type ExecutionDecision } from './decide/report.js';
import { decideCreateSignal, decideSetSignal } from './decide/signal.js';
import { decideTaskReport } from './decide/task.js';
import { decideWorkflowReport } from './decide/workflow.js';
import type { ExecutionEvent } from './events.js';
import { isTerminal, WORKFLOW } from './phases.js';
import type { ExecutionRefusal } from './refusals.js';
import { evolveExecution, type ExecutionState, initialState } from './state.js';

const NOT_FOUND: ExecutionDecision = refused({ kind: 'execution-not-found' });

const decideCreate = (state: ExecutionState, { created }: CreateExecution): ExecutionDecision => {
  if (state.exists) return refused({ kind: 'execution-exists' });
  if (state.voided.includes(created.slotAttempt)) return refused({ kind: 'execution-voided' });
  return accepted({ type: 'ExecutionCreated', data: created });
};

/** Records nothing when the execution exists: the attempt can no longer be prevented from creating it. */
const decideVoid = (state: ExecutionState, { attempt }: VoidExecution): ExecutionDecision => {
  if (state.exists || state.voided.includes(attempt)) return accepted();
  return accepted({ type: 'ExecutionVoided', data: create(ExecutionVoidedSchema, { attempt }) });
};

const byEntity = { workflow: decideWorkflowReport, node: decideNodeReport, task: decideTaskReport };

const decideReport = (state: ExecutionState, command: ReportPhase): ExecutionDecision => {
  if (!state.exists) return NOT_FOUND;
  const refusal = fenced(state, command);
  return refusal === undefined ? byEntity[command.envelope.entity](state, command) : refused(refusal);
};

/** A second termination may give another cause; the same cause and principal again record nothing. */
const decideTerminate = (state: ExecutionState, { id, cause, principal }: TerminateExecution): ExecutionDecision => {
  if (!state.exists) return NOT_FOUND;
  if (isTerminal('workflow', state.phase)) return refused({ kind: 'cannot-abort', current: state.phase });
  if (state.abort?.cause === cause && state.abort.principal === principal) return accepted();
  return accepted({ type: 'TerminationRequested', data: create(TerminationRequestedSchema, { id, cause, principal }) });
};

/** An ABORTING execution will end anyway, and keeps the cause that it has. */
const decideTimeOut = (state: ExecutionState, { id, afterMs }: TimeOutExecution): ExecutionDecision => {
  const { phase } = state;
  if (!state.exists || phase === WORKFLOW.ABORTING || isTerminal('workflow', phase)) return accepted();
  const cause = `execution.timeout of ${afterMs / 1000} s is over`;
  return accepted({
    type: 'TerminationRequested',
    data: create(TerminationRequestedSchema, { id, cause, timedOut: true }),
  });
};

const expiredCause = (cause: string, afterMs: number): string =>
  `${cause === '' ? '' : `${cause}; `}ended by the control plane, because the engine had not ended it within ${afterMs / 1000} s`;

/** Records nothing unless the execution is ABORTING: one that has ended has nothing left to expire. */
const decideExpire = (state: ExecutionState, { afterMs }: ExpireTermination): ExecutionDecision => {
  if (state.phase !== WORKFLOW.ABORTING) return accepted();
  const { cause, principal } = state.abort ?? { cause: '', principal: '' };
  const closed = openEntities(state);
  const data = create(ExecutionExpiredSchema, {
    phase: state.isTimedOut ? WorkflowExecution_Phase.TIMED_OUT : WorkflowExecution_Phase.ABORTED,
    cause: expiredCause(cause, afterMs),
    principal,
    ...(closed && { closed: create(ContentSchema, { content: closed.content }) }),
  });
  return accepted({ type: 'ExecutionExpired', data });
};

const sameTags = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((tag, index) => tag === b[index]);

const decideUpdate = (state: ExecutionState, command: UpdateExecution): ExecutionDecision => {
  if (!state.exists) return NOT_FOUND;
  const { principal, tags } = command;
  const events: ExecutionEvent[] = [];
  if (command.state !== state.archival)
    events.push({
      type: 'ExecutionStateChanged',
      data: create(ExecutionStateChangedSchema, { state: command.state, principal }),
    });
  if (tags !== undefined && !sameTags(tags, state.tags))
    events.push({ type: 'ExecutionTagged', data: create(ExecutionTaggedSchema, { tags: [...tags], principal }) });
  return accepted(...events);
};

type CommandOf<Type> = Extract<ExecutionCommand, { readonly type: Type }>;

const rows: {
  readonly [Type in ExecutionCommand['type']]: (state: ExecutionState, command: CommandOf<Type>) => ExecutionDecision;
} = {
  CreateExecution: decideCreate,
  VoidExecution: decideVoid,
  ReportPhase: decideReport,
  TerminateExecution: decideTerminate,
  ExpireTermination: decideExpire,
  TimeOutExecution: decideTimeOut,
  UpdateExecution: decideUpdate,
  CreateSignal: decideCreateSignal,
  SetSignal: decideSetSignal,
  LeaseWork: decideLease,
  ReturnWork: decideReturn,
};

const decide = (state: ExecutionState, command: ExecutionCommand): ExecutionDecision => {
  // The row of a type takes exactly the commands of that type, which TypeScript cannot infer.
  const row = rows[command.type] as (state: ExecutionState, command: ExecutionCommand) => ExecutionDecision;
  return row(state, command);
};

export const executionDecider: Decider<ExecutionState, ExecutionCommand, ExecutionEvent, ExecutionRefusal> = {
  initial: initialState,
  evolve: evolveExecution,
  decide,
};
