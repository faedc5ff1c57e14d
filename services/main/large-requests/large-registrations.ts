import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { LaunchPlanCreateRequestSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import type { PlatformLimits } from '../../compiler/resources/task-resources.js';
import { decodeStrictly } from '../../gateway/decode.js';
import type { Version } from '../../kernel/identifier.js';
import type { RegisterLaunchPlan } from '../../launch-plan/commands.js';
import type { LargeLaunchPlans } from '../../launch-plan/ports.js';
import { launchPlanHead, type PlannedWorkflow } from '../../launch-plan/registration/request.js';
import type { RegisterTask } from '../../task/commands.js';
import type { LargeTasks } from '../../task/ports.js';
import { taskHead, type TaskTypes } from '../../task/registration/task.js';
import type { RegisterWorkflow } from '../../workflow/commands.js';
import type { LargeWorkflows } from '../../workflow/ports.js';
import type { WorkflowLimits } from '../../workflow/registration/compile.js';
import { largeWork, reading } from './large-work.js';
import type { LogSource } from '../log/log-source.js';
import type { PayloadSource } from '../payloads.js';

/** The worker data of the thread that compiles. */
export type RegistrationThreadData = PayloadSource & {
  readonly source: LogSource;
  readonly taskTypes: TaskTypes;
  readonly workflowLimits: WorkflowLimits;
};

/** The kind and id of a definition to be compiled, with what it is checked against. Its bytes are sent beside it. */
export type LargeRegistration =
  | { readonly kind: 'task'; readonly id: Version; readonly limits: PlatformLimits }
  | { readonly kind: 'workflow'; readonly id: Version }
  | { readonly kind: 'launch-plan'; readonly id: Version; readonly workflow: PlannedWorkflow };

/** The command that each kind is compiled to. */
type Registered = {
  readonly task: RegisterTask;
  readonly workflow: RegisterWorkflow;
  readonly 'launch-plan': RegisterLaunchPlan;
};

/**
 * Tasks and launch plans above this size, in bytes, are compiled on the thread: decoding and hashing one takes tens of
 * ms. For workflows, `services/workflow/rpc.ts` has the limit.
 */
const LARGE = 32 * 1024;

export type LargeRegistrations = {
  readonly tasks: LargeTasks;
  readonly workflows: LargeWorkflows;
  readonly launchPlans: LargeLaunchPlans;
  readonly close: () => Promise<void>;
};

/** Makes the decoder of the head of a request: the fields that are needed before the thread decodes all of it. */
const headOf = <Type extends DescMessage>(
  schema: Type,
  head: (request: Uint8Array) => Uint8Array,
): ((request: Uint8Array) => MessageShape<Type>) => reading(schema, (request) => decodeStrictly(schema, head(request)));

/** Compiles large tasks, workflows and launch plans on a thread of their own. */
export const largeRegistrations = (data: RegistrationThreadData): LargeRegistrations => {
  const thread = largeWork<LargeRegistration, Registered[LargeRegistration['kind']]>({
    thread: new URL('./registration-thread.js', import.meta.url),
    workerData: data,
    tooMany: 'too many large registrations wait to be compiled; nothing was recorded',
  });
  const compiled = async <Asked extends LargeRegistration>(request: Uint8Array, registration: Asked) =>
    (await thread.ask(request, registration)) as Registered[Asked['kind']];

  const ofTask = headOf(TaskCreateRequestSchema, taskHead);
  return {
    tasks: {
      aboveBytes: LARGE,
      idOf: (request) => ofTask(request).id,
      registrationOf: (id, request, limits) => compiled(request, { kind: 'task', id, limits: { ...limits } }),
    },
    workflows: { registrationOf: (id, request) => compiled(request, { kind: 'workflow', id }) },
    launchPlans: {
      aboveBytes: LARGE,
      headOf: headOf(LaunchPlanCreateRequestSchema, launchPlanHead),
      registrationOf: (id, request, workflow) => compiled(request, { kind: 'launch-plan', id, workflow }),
    },
    close: () => thread.close(),
  };
};
