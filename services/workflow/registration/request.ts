import { fromBinary } from '@bufbuild/protobuf';
import {
  type WorkflowCreateRequest,
  WorkflowCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { descriptionProblem } from '../../compiler/description.js';
import { fieldBytes } from '../../kernel/encoding/field-bytes.js';
import type { Version } from '../../kernel/identifier.js';
import { assertTimes, missing, RpcError, type Call } from '../../kernel/rpc.js';
import type { RegisterWorkflow } from '../commands.js';
import type { Requirements } from '../ports.js';
import { compiledFrom, type WorkflowLimits } from './compile.js';
import { requirementsOf } from '../../compiler/graph/requirements.js';
import { accessOf, assertPermitted } from '../../kernel/permitted.js';

const ID = 1;

/** Decodes only the identifier of a request, which may be large. */
export const workflowIdIn = (request: Uint8Array): Identifier | undefined =>
  fromBinary(WorkflowCreateRequestSchema, fieldBytes(request, ID)).id;

/**
 * Makes the registration of a request.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the field that is missing or invalid, the errors of the workflow, or the
 *   limit that it exceeds.
 */
export const workflowRegistration = async (
  id: Version,
  request: WorkflowCreateRequest,
  requirements: Requirements,
  limits: WorkflowLimits,
): Promise<RegisterWorkflow> => {
  assertTimes(WorkflowCreateRequestSchema, request);
  const { spec } = request;
  if (spec?.template === undefined) throw missing(spec === undefined ? 'spec' : 'spec.template');
  const { template, subWorkflows, description } = spec;
  const problem = descriptionProblem(description);
  if (problem !== undefined) throw new RpcError('INVALID_ARGUMENT', problem);
  return { ...(await compiledFrom(id, { template, subWorkflows }, requirements, limits)), description };
};

/**
 * Checks that the caller may read the tasks and launch plans that a workflow refers to: its compiled form has their
 * interfaces. The request is decoded for that only when the caller may not read everything.
 *
 * @throws {RpcError} PERMISSION_DENIED at the first reference that the caller may not read.
 */
export const assertReferencesReadable = (request: Uint8Array, call: Call): void => {
  if (accessOf(call).may('read', '', '')) return;
  const { spec } = fromBinary(WorkflowCreateRequestSchema, request);
  if (spec?.template === undefined) return;
  const { tasks, launchPlans } = requirementsOf(spec.template, spec.subWorkflows);
  for (const id of [...tasks, ...launchPlans])
    if (id.project !== '' || id.domain !== '') assertPermitted(call, 'read', id);
};
