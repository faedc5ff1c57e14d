import { create } from '@bufbuild/protobuf';

import { LaunchPlanSpecSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { CompiledTask } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { IdentifierSchema, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type Version, versionOf } from '../../kernel/identifier.js';
import type { CommandContext, Sessions } from '../../kernel/ports/sessions.js';
import { launchPlanAggregate } from '../decider.js';
import { launchPlanStream } from '../events.js';
import { planOf } from './plan.js';

/** Registers the launch plan of the workflow that runs a single task, under the workflow's name, unless it exists. */
export const registerSingleTaskPlan = async (
  sessions: Sessions,
  { template }: CompiledTask,
  workflow: Version,
  context: CommandContext,
): Promise<void> => {
  const id = versionOf('LAUNCH_PLAN', { ...workflow, resourceType: ResourceType.LAUNCH_PLAN });
  const isRegistered = await sessions.read(launchPlanAggregate, launchPlanStream(id), ({ state }) =>
    state.versions.has(id.version),
  );
  if (isRegistered) return;
  const spec = create(LaunchPlanSpecSchema, {
    workflowId: create(IdentifierSchema, workflow),
    entityMetadata: {},
    fixedInputs: {},
    labels: {},
    annotations: {},
  });
  const command = planOf(id, spec, template?.interface);
  await sessions.handle(launchPlanAggregate, launchPlanStream(id), command, context);
};
