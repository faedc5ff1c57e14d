import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import {
  type Execution,
  type ExecutionClosure,
  ExecutionMetadata_ExecutionMode as Mode,
  type ExecutionSpec,
  ExecutionSpecSchema,
} from '../proto/gen/platformidl/admin/execution_pb.js';
import {
  ExecutionError_ErrorKind as Kind,
  WorkflowExecution_Phase as Phase,
} from '../proto/gen/platformidl/core/execution_pb.js';
import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { isExecutionEnd } from './active-executions.js';
import { CallError } from './call-error.js';
import { type InterfaceClient } from './client.js';
import { type Effect, type WalkOutcome } from './walk/effects.js';
import { failure } from './walk/reports.js';

type Launch = Extract<Effect, { kind: 'launch' }>;

const { createExecution, terminateExecution, getExecution, getExecutionData } = AdminService.method;

/** Statuses that are not about the request: the walk is retried, instead of failing the node. */
const SYSTEM: ReadonlySet<status> = new Set([
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.UNKNOWN,
  status.CANCELLED,
  status.DATA_LOSS,
  status.UNAUTHENTICATED,
]);

/** Settings that a child execution inherits from its parent. */
const inherited = (spec: ExecutionSpec): Omit<MessageInitShape<typeof ExecutionSpecSchema>, '$typeName'> => ({
  ...(spec.labels ? { labels: spec.labels } : {}),
  ...(spec.annotations ? { annotations: spec.annotations } : {}),
  ...(spec.securityContext ? { securityContext: spec.securityContext } : {}),
  ...(spec.envs ? { envs: spec.envs } : {}),
  ...(spec.rawOutputDataConfig ? { rawOutputDataConfig: spec.rawOutputDataConfig } : {}),
  ...(spec.interruptible === undefined ? {} : { interruptible: spec.interruptible }),
  maxParallelism: spec.maxParallelism,
  overwriteCache: spec.overwriteCache,
});

/** Maximum of the uint32 field. */
const MAX_NESTING = 2 ** 32 - 1;

const specOf = (parent: Execution, launch: Launch): ExecutionSpec => {
  const { principal = '', nesting = 0 } = parent.spec?.metadata ?? {};
  return create(ExecutionSpecSchema, {
    ...(parent.spec ? inherited(parent.spec) : {}),
    launchPlan: launch.launchPlan,
    metadata: {
      mode: Mode.CHILD_WORKFLOW,
      principal,
      nesting: Math.min(nesting + 1, MAX_NESTING),
      parentNodeExecution: { nodeId: launch.parentNodeId, ...(parent.id ? { executionId: parent.id } : {}) },
    },
  });
};

/**
 * Launches a child execution. One that has its name already is used in its place: an earlier attempt has launched it
 * for the same node.
 *
 * @returns the reason when the control plane refuses.
 */
export const launchChild = async (
  client: InterfaceClient,
  parent: Execution,
  launch: Launch,
): Promise<string | undefined> => {
  const { project, domain, name } = launch.child;
  const inputs = { literals: { ...launch.inputs } };
  try {
    await client.call(createExecution, { project, domain, name, inputs, spec: specOf(parent, launch) });
    return undefined;
  } catch (error) {
    if (!(error instanceof CallError) || SYSTEM.has(error.code)) throw error;
    return error.code === status.ALREADY_EXISTS ? undefined : error.message;
  }
};

/** Requests the termination of a child; does nothing when the child has ended or does not exist. */
export const terminateChild = async (
  client: InterfaceClient,
  id: WorkflowExecutionIdentifier,
  cause: string,
): Promise<void> => {
  try {
    await client.call(terminateExecution, { id, cause });
  } catch (error) {
    const isDone =
      error instanceof CallError && (error.code === status.NOT_FOUND || error.code === status.FAILED_PRECONDITION);
    if (!isDone) throw error;
  }
};

const failed = (id: WorkflowExecutionIdentifier, closure: ExecutionClosure | undefined): WalkOutcome => {
  const phase = Phase[closure?.phase ?? Phase.UNDEFINED];
  const result = closure?.outputResult;
  const error = result?.case === 'error' ? result.value : failure(phase, `${id.name} is ${phase}`, Kind.USER);
  return { kind: 'failed', error };
};

/** Reads the result of a child; `undefined` while it has not ended. */
export const readChildEnd = async (
  client: InterfaceClient,
  id: WorkflowExecutionIdentifier,
): Promise<WalkOutcome | undefined> => {
  const { closure } = await client.call(getExecution, { id });
  const phase = closure?.phase ?? Phase.UNDEFINED;
  if (phase !== Phase.SUCCEEDED) return isExecutionEnd(phase) ? failed(id, closure) : undefined;
  const { fullOutputs } = await client.call(getExecutionData, { id });
  return { kind: 'succeeded', outputs: fullOutputs?.literals ?? {} };
};
