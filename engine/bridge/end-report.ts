import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import {
  ExecutionError_ErrorKind,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { type WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { isExecutionEnd } from '../active-executions.js';
import { CallError } from '../call-error.js';
import { type InterfaceClient } from '../client.js';

const { createWorkflowEvent, getExecution } = AdminService.method;

/** Statuses that mean that the execution has ended already, does not exist, or is no longer leased to this bridge. */
const OVER: ReadonlySet<status> = new Set([status.ALREADY_EXISTS, status.FAILED_PRECONDITION, status.NOT_FOUND]);

export type ReportedEnd = {
  readonly id: WorkflowExecutionIdentifier;
  readonly producerId: string;
  readonly phase: Phase.ABORTED | Phase.FAILED;
  readonly code: string;
  readonly message: string;
};

/**
 * Reports the end of an execution without an object, which its engine cannot report. Does nothing when the execution
 * has ended already, does not exist, or is no longer leased to this bridge.
 */
export const reportEnd = async (
  client: InterfaceClient,
  { id, producerId, phase, code, message }: ReportedEnd,
): Promise<void> => {
  const error = { code, message, kind: ExecutionError_ErrorKind.SYSTEM };
  const event = {
    executionId: id,
    producerId,
    phase,
    occurredAt: timestampFromMs(Date.now()),
    outputResult: { case: 'error' as const, value: error },
  };
  try {
    await client.call(createWorkflowEvent, { requestId: `bridge-${code}-${id.name}`, event });
  } catch (cause) {
    if (!(cause instanceof CallError) || !OVER.has(cause.code)) throw cause;
  }
};

/** Reads the state of an execution from the control plane; `undefined` when it does not exist there. */
export const stateOf = async (
  client: InterfaceClient,
  id: WorkflowExecutionIdentifier,
): Promise<'open' | 'over' | undefined> => {
  try {
    const { closure } = await client.call(getExecution, { id });
    return isExecutionEnd(closure?.phase ?? Phase.UNDEFINED) ? 'over' : 'open';
  } catch (cause) {
    if (cause instanceof CallError && cause.code === status.NOT_FOUND) return undefined;
    throw cause;
  }
};
