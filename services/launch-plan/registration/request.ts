import { create } from '@bufbuild/protobuf';

import {
  type LaunchPlanCreateRequest,
  LaunchPlanCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { IdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { TypedInterface } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { fieldBytes } from '../../kernel/encoding/field-bytes.js';
import type { Version } from '../../kernel/identifier.js';
import { assertLabels } from '../../kernel/values/labels.js';
import { assertTimes, missing } from '../../kernel/rpc.js';
import type { RegisterLaunchPlan } from '../commands.js';
import { planOf } from './plan.js';

/** The id and interface of a launch plan's workflow. */
export type PlannedWorkflow = { readonly id: Version; readonly interface: TypedInterface | undefined };

const ID = 1;
const SPEC = 2;
const WORKFLOW_ID = 1;

/**
 * Cuts a request, which may be large, down to its id and the id of its workflow; both are encoded.
 *
 * @throws {Error} when the bytes are not a protobuf message.
 */
export const launchPlanHead = (request: Uint8Array): Uint8Array =>
  Buffer.concat([fieldBytes(request, ID), fieldBytes(request, SPEC, WORKFLOW_ID)]);

/**
 * Makes the registration of a request.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the first error, in the order in which FlyteAdmin checks.
 */
export const launchPlanRegistration = (
  id: Version,
  request: LaunchPlanCreateRequest,
  workflow: PlannedWorkflow,
): RegisterLaunchPlan => {
  assertTimes(LaunchPlanCreateRequestSchema, request);
  const { spec } = request;
  if (spec === undefined) throw missing('spec');
  assertLabels(spec.labels);
  return planOf(id, { ...spec, workflowId: create(IdentifierSchema, workflow.id) }, workflow.interface);
};
