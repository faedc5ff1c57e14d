import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { expect } from 'vitest';

import { EventFailureReasonSchema } from '../../../proto/gen/platformidl/admin/event_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import type {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { ControlPlane } from '../processes/control-plane.js';
import { type ExecutionId, nodeReport, taskReport, workflowReport } from './reports.js';
import type { Answer, Transport } from '../clients/transports.js';

const { method } = AdminService;

type Fields<Desc extends Parameters<typeof fromBinary>[0]> = Omit<
  Exclude<MessageInitShape<Desc>, { readonly $typeName: string }>,
  'phase'
>;

/** A request about an execution. */
export type Asked = (transport: Transport, id: ExecutionId) => Promise<Answer>;

/** An engine's report of the phase of an execution, with more fields. */
export const workflow =
  (phase: keyof typeof Phase, more: Fields<typeof WorkflowExecutionEventSchema> = {}): Asked =>
  (transport, id) =>
    transport.attempt(method.createWorkflowEvent, workflowReport(id, { phase: Phase[phase], ...more }));

/** An engine's report of a node, by default `n0`. */
export const node =
  (phase: keyof typeof NodePhase, more: Fields<typeof NodeExecutionEventSchema> = {}, nodeId = 'n0'): Asked =>
  (transport, id) =>
    transport.attempt(method.createNodeEvent, nodeReport(id, nodeId, { phase: NodePhase[phase], ...more }));

/** An engine's report of an attempt of the task of `n0`. */
export const task =
  (phase: keyof typeof TaskPhase, more: Fields<typeof TaskExecutionEventSchema> = {}): Asked =>
  (transport, id) =>
    transport.attempt(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase[phase], ...more }));

/** One step of a sequence: a request, the expected answer, and whether an event is recorded. */
export type Step = {
  readonly ask: Asked;
  readonly code: string;
  /** A part of the expected message. */
  readonly says: string;
  /** The expected detail of the status; no details when undefined. */
  readonly reason: object | undefined;
  readonly isRecorded: boolean;
};

const OK: Omit<Step, 'ask'> = { code: 'OK', says: '', reason: undefined, isRecorded: true };

/** A request that is answered OK and records an event. */
export const ok = (ask: Asked): Step => ({ ...OK, ask });

/** A request that is answered OK and records nothing. */
export const idle = (ask: Asked): Step => ({ ...OK, ask, isRecorded: false });

/** A report of an already recorded phase with new data, which is recorded. */
export const known = (ask: Asked): Step => ({ ...OK, ask, code: 'ALREADY_EXISTS', says: 'already recorded' });

/** A report of an already recorded phase without new data, which records nothing. */
export const again = (ask: Asked): Step => ({ ...known(ask), isRecorded: false });

/** A report of a phase that is not later than that of the execution; it records nothing. */
export const stale = (ask: Asked): Step => ({ ...again(ask), says: 'is not a later phase' });

/** A request that is refused and records nothing. */
export const refused = (code: string, ask: Asked, says: string, reason?: object): Step => ({
  ...{ ask, code, says, reason },
  isRecorded: false,
});

/** A request that is refused because the execution, node or attempt has ended; the detail names its phase. */
export const ended = (ask: Asked, currentPhase: string): Step =>
  refused('FAILED_PRECONDITION', ask, 'Invalid phase change', {
    case: 'alreadyInTerminalState',
    value: { currentPhase },
  });

/** A report that is refused because it comes from the cluster `cluster`, which does not have the execution. */
export const foreign = (ask: Asked, cluster: string): Step =>
  refused('FAILED_PRECONDITION', ask, cluster, { case: 'incompatibleCluster', value: { cluster } });

const reasonOf = ({ details: [detail] }: Answer): unknown =>
  detail && fromBinary(EventFailureReasonSchema, detail.value).reason;

/** Sends the requests about an execution one after another, and checks each answer and the log. */
export const runSteps = async (
  { head, ...plane }: ControlPlane,
  transport: 'grpc' | 'rest',
  id: ExecutionId,
  steps: readonly Step[],
): Promise<void> => {
  for (const { ask, code, says, reason, isRecorded } of steps) {
    const before = await head();
    const answer = await ask(plane[transport], id);
    const seen = { code: answer.code, message: answer.message, isRecorded: (await head()) > before };
    expect(seen).toEqual({ code, message: expect.stringContaining(says) as string, isRecorded });
    if (reason === undefined) expect(answer.details).toEqual([]);
    else expect(reasonOf(answer)).toMatchObject(reason);
  }
};

/** Expects that an answer has the given fields; a field given as undefined must be absent. */
export const expectShown = (answered: object | undefined, shown: Readonly<Record<string, unknown>>): void => {
  const all = new Map<string, unknown>(Object.entries(answered ?? {}));
  for (const [field, value] of Object.entries(shown)) {
    const seen = { [field]: all.get(field) };
    if (value === undefined) expect(seen).toEqual({ [field]: undefined });
    else expect(seen).toMatchObject({ [field]: value });
  }
};
