import { create } from '@bufbuild/protobuf';

import {
  type LaunchPlanCreateRequest,
  LaunchPlanCreateResponseSchema,
  LaunchPlanState as State,
  type LaunchPlanUpdateRequest,
  LaunchPlanUpdateResponseSchema,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { contextOf } from '../kernel/command-context.js';
import {
  newVersionOf,
  versionNotFound,
  type Version,
  versionOf,
  versionText,
  withResourceType,
} from '../kernel/identifier.js';
import { type Call, type LargeRequests, missing, route, type Route, RpcError } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import type { LaunchPlanCommand, RegisterLaunchPlan } from './commands.js';
import { launchPlanAggregate, type LaunchPlanRefusal } from './decider.js';
import { launchPlanStream } from './events.js';
import type { Definitions, LargeLaunchPlans, Projects } from './ports.js';
import { type PlannedWorkflow, launchPlanRegistration } from './registration/request.js';
import { isScheduled } from './registration/schedule.js';

export type LaunchPlanServices = {
  readonly sessions: Sessions;
  readonly projects: Projects;
  readonly definitions: Definitions;
  readonly largeLaunchPlans: LargeLaunchPlans;
};

const refusals: Readonly<Record<LaunchPlanRefusal['kind'], (id: Version) => RpcError>> = {
  'exists-identical': (id) =>
    new RpcError('ALREADY_EXISTS', `launch plan with identical structure already exists: ${versionText(id)}`),
  'exists-different': ({ name }) =>
    new RpcError(
      'ALREADY_EXISTS',
      `${name} launch plan with different structure already exists with the same id: register it under a new version`,
    ),
  'version-unknown': (id) => versionNotFound('LAUNCH_PLAN', id),
};

const record = async ({ sessions }: LaunchPlanServices, command: LaunchPlanCommand, call: Call): Promise<void> => {
  const { id } = command;
  const outcome = await sessions.handle(launchPlanAggregate, launchPlanStream(id), command, contextOf(call));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](id);
};

/** Makes the registration of a request for a workflow. */
type RegistrationOf = (id: Version, workflow: PlannedWorkflow) => RegisterLaunchPlan | Promise<RegisterLaunchPlan>;

/**
 * Checks the workflow before the launch plan's own id, because clients of the interface expect this order of errors.
 */
const createLaunchPlan = async (
  services: LaunchPlanServices,
  { id: sent, spec }: LaunchPlanCreateRequest,
  registrationOf: RegistrationOf,
  call: Call,
): Promise<void> => {
  if (spec === undefined) throw missing('spec');
  const workflowId = versionOf('WORKFLOW', spec.workflowId, 'spec.workflow_id');
  const workflow = await services.definitions.workflow(workflowId);
  if (workflow === undefined) throw versionNotFound('WORKFLOW', workflowId);
  const id = await newVersionOf('LAUNCH_PLAN', sent, (version) =>
    services.sessions.read(launchPlanAggregate, launchPlanStream(version), ({ state }) =>
      state.versions.has(version.version),
    ),
  );
  const refusal = await services.projects.check(id.project, id.domain);
  if (refusal !== undefined) throw refusal;
  await record(services, await registrationOf(id, { id: workflowId, interface: workflow.interface }), call);
};

const largeCreations = (services: LaunchPlanServices): LargeRequests => ({
  aboveBytes: services.largeLaunchPlans.aboveBytes,
  handle: async (bytes, call) => {
    const { largeLaunchPlans } = services;
    const registrationOf: RegistrationOf = (id, workflow) => largeLaunchPlans.registrationOf(id, bytes, workflow);
    await createLaunchPlan(services, largeLaunchPlans.headOf(bytes), registrationOf, call);
    return create(LaunchPlanCreateResponseSchema);
  },
});

const commandOf = async (
  { definitions }: LaunchPlanServices,
  { id: sent, state }: LaunchPlanUpdateRequest,
): Promise<LaunchPlanCommand> => {
  const id = versionOf('LAUNCH_PLAN', withResourceType('LAUNCH_PLAN', sent));
  if (!Object.hasOwn(State, state)) throw new RpcError('INVALID_ARGUMENT', `Unrecognized launch plan state ${state}`);
  if (state === State.INACTIVE) return { type: 'DeactivateLaunchPlan', id };
  const plan = await definitions.launchPlan(id);
  if (plan === undefined) throw versionNotFound('LAUNCH_PLAN', id);
  const schedule = plan.spec.entityMetadata?.schedule;
  return { type: 'ActivateLaunchPlan', id, schedule: isScheduled(schedule) ? schedule : undefined };
};

export const launchPlanRoutes = (services: LaunchPlanServices): readonly Route[] => [
  route(
    AdminService.method.createLaunchPlan,
    async (request, call) => {
      await createLaunchPlan(services, request, (id, workflow) => launchPlanRegistration(id, request, workflow), call);
      return create(LaunchPlanCreateResponseSchema);
    },
    largeCreations(services),
  ),
  route(AdminService.method.updateLaunchPlan, async (request, call) => {
    await record(services, await commandOf(services, request), call);
    return create(LaunchPlanUpdateResponseSchema);
  }),
];
