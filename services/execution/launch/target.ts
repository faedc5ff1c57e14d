import type { LaunchPlanSpec } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { CompiledTask } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { QualityOfService } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type Identifier, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { ParameterMap } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { singleTaskWorkflow } from '../../compiler/single-task.js';
import { versionNotFound, assertComplete, versionOf } from '../../kernel/identifier.js';
import { missing, RpcError } from '../../kernel/rpc.js';
import type { Definitions, Projects, SingleTasks, StreamRevision } from '../ports.js';

export type TargetServices = {
  readonly projects: Projects;
  readonly definitions: Definitions;
  readonly singleTasks: SingleTasks;
};

/** The launch plan or task that an execution runs. */
export type Target = {
  readonly expectedInputs: ParameterMap;
  readonly workflowId: Identifier;
  readonly read: readonly StreamRevision[];
  /** Makes the workflow readable for engines; called after the request has been checked. */
  readonly prepare: () => Promise<void>;
} & (
  | {
      readonly kind: 'launch-plan';
      readonly launchPlanId: Identifier;
      readonly spec: LaunchPlanSpec;
      /** The quality of service in the workflow's metadata. */
      readonly qualityOfService: QualityOfService | undefined;
      readonly limitsConcurrency: boolean;
    }
  | { readonly kind: 'task'; readonly taskId: Identifier }
);

const launchPlanTarget = async ({ definitions }: TargetServices, id: Identifier): Promise<Target> => {
  const version = versionOf('LAUNCH_PLAN', id);
  const plan = await definitions.launchPlan(id);
  if (plan === undefined) throw versionNotFound('LAUNCH_PLAN', version);
  const { workflowId } = plan.spec;
  if (workflowId === undefined) throw missing('workflow_id of the launch plan');
  const workflow = await definitions.workflow(workflowId);
  if (workflow === undefined) throw versionNotFound('WORKFLOW', workflowId);
  return {
    kind: 'launch-plan',
    launchPlanId: plan.id,
    spec: plan.spec,
    qualityOfService: workflow.qualityOfService,
    limitsConcurrency: plan.limitsConcurrency,
    expectedInputs: plan.expectedInputs,
    workflowId,
    read: [plan.read],
    prepare: () => Promise.resolve(),
  };
};

/** The generated workflow is registered in the project of the task, so that project must accept registrations. */
const taskTarget = async (services: TargetServices, id: Identifier): Promise<Target> => {
  const version = versionOf('TASK', id);
  const task: CompiledTask | undefined = await services.definitions.task(id);
  if (task?.template === undefined) throw versionNotFound('TASK', version);
  const refusal = await services.projects.check(id.project, id.domain);
  if (refusal !== undefined) throw refusal;
  const { template, expectedInputs } = singleTaskWorkflow(task.template);
  if (template.id === undefined) throw missing('id of the task');
  return {
    kind: 'task',
    taskId: id,
    expectedInputs,
    workflowId: template.id,
    read: [],
    prepare: async () => {
      await services.singleTasks.singleTask(task);
    },
  };
};

const LAUNCHABLE: Readonly<Partial<Record<ResourceType, typeof taskTarget>>> = {
  [ResourceType.LAUNCH_PLAN]: launchPlanTarget,
  [ResourceType.TASK]: taskTarget,
};

/** The name of a type, or its number: the enum is open, and a client may send any number. */
const typeName = (type: ResourceType): string =>
  Object.hasOwn(ResourceType, type) ? ResourceType[type] : String(type);

/**
 * Checks that an identifier is complete and names a launch plan or a task.
 *
 * @throws {RpcError} INVALID_ARGUMENT.
 */
export const assertLaunchable = (sent: Identifier | undefined): Identifier => {
  const id = assertComplete(sent, 'spec.launch_plan');
  if (LAUNCHABLE[id.resourceType] === undefined)
    throw new RpcError(
      'INVALID_ARGUMENT',
      `Invalid reference entity resource type [${typeName(id.resourceType)}], only [LAUNCH_PLAN, TASK] allowed`,
    );
  return id;
};

/**
 * Finds the launch plan or task to launch.
 *
 * @throws {RpcError} NOT_FOUND when it, or the workflow of the launch plan, is not registered; for a task, the error of
 *   {@link Projects.check} when its project and domain take no registrations.
 */
export const launchTarget = (services: TargetServices, id: Identifier): Promise<Target> =>
  (LAUNCHABLE[id.resourceType] ?? launchPlanTarget)(services, id);
