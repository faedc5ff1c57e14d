import { clone, create, fromBinary } from '@bufbuild/protobuf';
import {
  ExecutionCreateRequestSchema,
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
import { RpcError } from '../../kernel/rpc.js';
import { executionIdOf } from '../execution-id.js';
import { phaseName, WORKFLOW } from '../phases.js';
import { type Launched, errorsAsRefusals } from './answer.js';
import { type Actor, launch, type Launch, type LaunchServices } from './launch.js';
import { createdEventOf } from './lineage.js';
import { executionText, executionStream, type ExecutionId } from '../../kernel/execution-id.js';

export type RelaunchServices = LaunchServices & { readonly payloads: PayloadStore };

type Changes = { readonly name: string; readonly change: (spec: ExecutionSpec, metadata: ExecutionMetadata) => void };

/** The event that created an execution, and the phase and the tags that it has now. */
type Original = { readonly created: ExecutionCreated; readonly phase: number; readonly tags: readonly string[] };

/** @throws {RpcError} NOT_FOUND when there is no such execution. */
const originalOf = async (services: RelaunchServices, id: ExecutionId): Promise<Original> => {
  const created = await createdEventOf(services, id);
  const { sessions, aggregate } = services;
  return sessions.read(aggregate, executionStream(id), ({ state: { phase, tags } }) => ({ created, phase, tags }));
};

/**
 * Rebuilds the create request of an execution with the same inputs and versions and its present tags, and applies the
 * changes.
 */
const rebuiltRequest = async (
  { payloads, largeLaunches }: RelaunchServices,
  id: ExecutionId,
  { created, tags }: Original,
  { name, change }: Changes,
): Promise<Launch> => {
  const spec = created.spec === undefined ? create(ExecutionSpecSchema) : clone(ExecutionSpecSchema, created.spec);
  // oxlint-disable-next-line typescript/no-deprecated -- clients still send tags, and lists filter by them
  spec.tags = [...tags];
  const metadata = (spec.metadata ??= create(ExecutionMetadataSchema));
  metadata.referenceExecution = create(WorkflowExecutionIdentifierSchema, id);
  change(spec, metadata);
  const { userInputs } = created;
  const bytes = userInputs === undefined ? new Uint8Array() : await bytesOf(userInputs, payloads);
  const request = create(ExecutionCreateRequestSchema, { project: id.project, domain: id.domain, name, spec });
  // Large inputs stay encoded.
  return { request, given: bytes.length > largeLaunches.aboveBytes ? bytes : fromBinary(LiteralMapSchema, bytes) };
};

/** Launches an execution again, whatever its phase, with the same inputs and versions. */
export const relaunch = (
  services: RelaunchServices,
  request: ExecutionRelaunchRequest,
  actor: Actor,
): Promise<Launched> => {
  const id = executionIdOf(request.id);
  return errorsAsRefusals(id, async () => {
    const original = await originalOf(services, id);
    const rebuilt = await rebuiltRequest(services, id, original, {
      name: request.name,
      change: (spec, metadata) => {
        metadata.mode = Mode.RELAUNCH;
        spec.overwriteCache = request.overwriteCache;
      },
    });
    return launch(services, rebuilt, actor);
  });
};

const RECOVERABLE: readonly number[] = [WORKFLOW.FAILED, WORKFLOW.ABORTED, WORKFLOW.TIMED_OUT];

const assertRecoverable = (id: ExecutionId, { phase }: Original): void => {
  if (!RECOVERABLE.includes(phase))
    throw new RpcError(
      'FAILED_PRECONDITION',
      `cannot recover execution [${executionText(id)}]: it is ${phaseName('workflow', phase)}, ` +
        'and only one that has ended FAILED, ABORTED or TIMED_OUT can be recovered',
    );
};

/**
 * Sets the parent node to that of the recover request. A request without metadata keeps the parent of the original;
 * metadata without a parent removes it.
 */
const setParent = (metadata: ExecutionMetadata, { metadata: given }: ExecutionRecoverRequest): void => {
  if (given === undefined) return;
  if (given.parentNodeExecution === undefined) delete metadata.parentNodeExecution;
  else metadata.parentNodeExecution = given.parentNodeExecution;
};

/**
 * Launches an execution again that has ended FAILED, ABORTED or TIMED_OUT; engines then reuse the results of its
 * succeeded nodes.
 */
export const recover = (
  services: RelaunchServices,
  request: ExecutionRecoverRequest,
  actor: Actor,
): Promise<Launched> => {
  const id = executionIdOf(request.id);
  return errorsAsRefusals(id, async () => {
    const original = await originalOf(services, id);
    assertRecoverable(id, original);
    const rebuilt = await rebuiltRequest(services, id, original, {
      name: request.name,
      change: (_, metadata) => {
        metadata.mode = Mode.RECOVERED;
        setParent(metadata, request);
      },
    });
    return launch(services, rebuilt, actor);
  });
};
