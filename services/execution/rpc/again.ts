import { clone, create, fromBinary } from '@bufbuild/protobuf';

import {
  type ExecutionCreateRequest,
  ExecutionCreateRequestSchema,
  type ExecutionCreateResponse,
  type ExecutionMetadata,
  ExecutionMetadata_ExecutionMode as Mode,
  ExecutionMetadataSchema,
  type ExecutionRecoverRequest,
  type ExecutionRelaunchRequest,
  type ExecutionSpec,
  ExecutionSpecSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { ExecutionCreated } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { bytesOf, type PayloadStore } from '../../kernel/ports/payload-store.js';
import { type Call, RpcError } from '../../kernel/rpc.js';
import { executionStream } from '../aggregate.js';
import type { ExecutionId } from '../wire/envelope.js';
import { phaseName, WORKFLOW } from '../phases.js';
import { createExecution, type CreateServices, type GivenInputs } from './create.js';
import { beginningOf, executionIdOf } from './lineage.js';
import { executionAbsent, executionText } from './refusals.js';

export type AgainServices = CreateServices & { readonly payloads: PayloadStore };

type Changes = { readonly name: string; readonly change: (spec: ExecutionSpec, metadata: ExecutionMetadata) => void };

type Again = { readonly request: ExecutionCreateRequest; readonly given: GivenInputs };

/** Rebuilds the create request of an execution with the same inputs and versions, and applies the changes. */
const requestAgain = async (
  { payloads, largeLaunches }: AgainServices,
  id: ExecutionId,
  original: ExecutionCreated,
  { name, change }: Changes,
): Promise<Again> => {
  const spec = original.spec === undefined ? create(ExecutionSpecSchema) : clone(ExecutionSpecSchema, original.spec);
  const metadata = (spec.metadata ??= create(ExecutionMetadataSchema));
  metadata.referenceExecution = create(WorkflowExecutionIdentifierSchema, id);
  change(spec, metadata);
  const { userInputs } = original;
  const bytes = userInputs === undefined ? new Uint8Array() : await bytesOf(userInputs, payloads);
  const request = create(ExecutionCreateRequestSchema, { project: id.project, domain: id.domain, name, spec });
  return { request, given: bytes.length > largeLaunches.aboveBytes ? bytes : fromBinary(LiteralMapSchema, bytes) };
};

export const relaunchExecution = async (
  services: AgainServices,
  request: ExecutionRelaunchRequest,
  call: Call,
): Promise<ExecutionCreateResponse> => {
  const id = executionIdOf(request.id);
  const original = await beginningOf(services, id);
  const again = await requestAgain(services, id, original, {
    name: request.name,
    change: (spec, metadata) => {
      metadata.mode = Mode.RELAUNCH;
      spec.overwriteCache = request.overwriteCache;
    },
  });
  return createExecution(services, again.request, again.given, call);
};

const RECOVERABLE: readonly number[] = [WORKFLOW.FAILED, WORKFLOW.ABORTED, WORKFLOW.TIMED_OUT];

const assertRecoverable = async ({ sessions, aggregate }: AgainServices, id: ExecutionId): Promise<void> => {
  const { exists, phase } = await sessions.read(aggregate, executionStream(id), ({ state }) => ({
    exists: state.exists,
    phase: state.phase,
  }));
  if (!exists) throw executionAbsent(id);
  if (!RECOVERABLE.includes(phase))
    throw new RpcError(
      'FAILED_PRECONDITION',
      `cannot recover execution [${executionText(id)}]: it is ${phaseName('workflow', phase)}, ` +
        'and only one that has ended FAILED, ABORTED or TIMED_OUT can be recovered',
    );
};

/**
 * When the recovery is itself launched by a launch plan node, its metadata has the parent node; metadata without one
 * clears the parent.
 */
const withParentOf = (metadata: ExecutionMetadata, { metadata: given }: ExecutionRecoverRequest): void => {
  if (given === undefined) return;
  if (given.parentNodeExecution === undefined) delete metadata.parentNodeExecution;
  else metadata.parentNodeExecution = given.parentNodeExecution;
};

export const recoverExecution = async (
  services: AgainServices,
  request: ExecutionRecoverRequest,
  call: Call,
): Promise<ExecutionCreateResponse> => {
  const id = executionIdOf(request.id);
  await assertRecoverable(services, id);
  const original = await beginningOf(services, id);
  const again = await requestAgain(services, id, original, {
    name: request.name,
    change: (_, metadata) => {
      metadata.mode = Mode.RECOVERED;
      withParentOf(metadata, request);
    },
  });
  return createExecution(services, again.request, again.given, call);
};
