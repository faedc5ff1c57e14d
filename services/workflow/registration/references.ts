import { fromBinary } from '@bufbuild/protobuf';

import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { requirementsOf } from '../../compiler/requirements.js';
import { accessOf, assertPermitted } from '../../kernel/permitted.js';
import type { Call } from '../../kernel/rpc.js';

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
