import { fromBinary } from '@bufbuild/protobuf';

import { LaunchPlanCreateRequestSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import {
  type WorkflowCreateRequest,
  WorkflowCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import type { CompiledTask } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { identifierKey } from '../../../services/compiler/identifier-key.js';
import { expectedInputs } from '../../../services/compiler/launch-plan-inputs.js';
import type { LaunchPlanInterface } from '../../../services/compiler/graph/scope.js';
import { compileTask } from '../../../services/compiler/task.js';
import { type CompiledOrErrors, compileWorkflow } from '../../../services/compiler/workflow.js';
import type { WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { type FixtureEntry, fixtureFolders } from '../../support/requests/fixtures.js';

/** The definitions registered so far, by kind and id. */
export type Registered = {
  readonly tasks: Map<string, CompiledTask>;
  readonly workflows: Map<string, WorkflowTemplate>;
  readonly launchPlans: Map<string, LaunchPlanInterface>;
};

/** The key and the compiled form of a task, from its registration. */
const compiledTask = (bytes: Uint8Array): readonly [string, CompiledTask] => {
  const { id, spec } = fromBinary(TaskCreateRequestSchema, bytes);
  const result = compileTask({ ...spec!.template!, id: id! });
  if ('errors' in result) throw new Error(result.errors.map(({ text }) => text).join('\n'));
  return [identifierKey(id!), result.task];
};

/** The key and the interface of a launch plan, from its registration. */
const launchPlan = (bytes: Uint8Array, { workflows }: Registered): readonly [string, LaunchPlanInterface] => {
  const { id, spec } = fromBinary(LaunchPlanCreateRequestSchema, bytes);
  const typed = workflows.get(identifierKey(spec!.workflowId!))!.interface;
  const { defaultInputs, fixedInputs } = spec!;
  const expected = expectedInputs({ workflowInputs: typed?.inputs, defaultInputs, fixedInputs });
  return [identifierKey(id!), { expectedInputs: expected, expectedOutputs: typed?.outputs }];
};

/** Decodes a request to register a workflow. */
export const workflowRequest = (bytes: Uint8Array): WorkflowCreateRequest =>
  fromBinary(WorkflowCreateRequestSchema, bytes);

/** Compiles with the id of the request, as registration does. */
export const compileRequest = ({ id, spec }: WorkflowCreateRequest, registered: Registered): CompiledOrErrors =>
  compileWorkflow({
    template: { ...spec!.template!, id: id! },
    subWorkflows: spec!.subWorkflows,
    task: (each) => registered.tasks.get(identifierKey(each)),
    launchPlan: (each) => registered.launchPlans.get(identifierKey(each)),
  });

const register = (entry: FixtureEntry, registered: Registered): void => {
  if (entry.kind === 'task') registered.tasks.set(...compiledTask(entry.bytes));
  if (entry.kind === 'launch_plan') registered.launchPlans.set(...launchPlan(entry.bytes, registered));
  if (entry.kind !== 'workflow') return;
  const { id, spec } = workflowRequest(entry.bytes);
  registered.workflows.set(identifierKey(id!), spec!.template!);
};

/** The definitions of all fixtures. @throws {Error} when a task does not compile; workflows are not compiled. */
export const registeredFixtures = (): Registered => {
  const registered: Registered = { tasks: new Map(), workflows: new Map(), launchPlans: new Map() };
  for (const { entries } of fixtureFolders()) for (const entry of entries) register(entry, registered);
  return registered;
};
