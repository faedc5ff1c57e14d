import { create } from '@bufbuild/protobuf';
import {
  ExecutionState,
  type ExecutionTerminateRequest,
  type ExecutionTerminateResponse,
  ExecutionTerminateResponseSchema,
  type ExecutionUpdateRequest,
  type ExecutionUpdateResponse,
  ExecutionUpdateResponseSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { contextOf } from '../../kernel/command-context.js';
import { type Call, invalid } from '../../kernel/rpc.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { type ExecutionAggregate } from '../aggregate.js';
import type { ExecutionCommand } from '../commands.js';
import { executionIdOf } from '../execution-id.js';
import { refusalError } from './refusals.js';
import { executionStream } from '../../kernel/execution-id.js';

export type ChangeServices = { readonly sessions: Sessions; readonly aggregate: ExecutionAggregate };

/** The longest cause, in characters: a cause is a sentence, not a document. */
const MAX_CAUSE = 32_000;

/**
 * Has a command decided and recorded in the stream of its execution.
 *
 * @throws {RpcError} of the refusal, when the command is refused.
 */
export const recordCommand = async (
  { sessions, aggregate }: ChangeServices,
  command: ExecutionCommand,
  call: Call,
): Promise<void> => {
  const { id } = command;
  const outcome = await sessions.handle(aggregate, executionStream(id), command, contextOf(call));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused') throw refusalError(outcome.refusal, { id });
};

export const terminateExecution = async (
  services: ChangeServices,
  { id, cause }: ExecutionTerminateRequest,
  call: Call,
): Promise<ExecutionTerminateResponse> => {
  if (cause.length > MAX_CAUSE) throw invalid('cause', `longer than ${MAX_CAUSE} characters`);
  const { principal } = call;
  await recordCommand(services, { type: 'TerminateExecution', id: executionIdOf(id), cause, principal }, call);
  return create(ExecutionTerminateResponseSchema);
};

export const updateExecution = async (
  services: ChangeServices,
  { id, state, tags }: ExecutionUpdateRequest,
  call: Call,
): Promise<ExecutionUpdateResponse> => {
  // The enum is open: a client may send any number.
  if (!Object.hasOwn(ExecutionState, state)) throw invalid('state', `${state} is not a state of an execution`);
  const { principal } = call;
  const command = { type: 'UpdateExecution', id: executionIdOf(id), state, tags: tags?.values, principal } as const;
  await recordCommand(services, command, call);
  return create(ExecutionUpdateResponseSchema);
};
