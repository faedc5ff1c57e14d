import { fromBinary } from '@bufbuild/protobuf';
import { ExecutionCreateRequestSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanCreateRequestSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import type { CompiledTask, CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { type Identifier, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { LiteralMap } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { resolveInputs } from '../../../services/compiler/launch-inputs.js';
import { identifierKey } from '../../../services/compiler/identifier-key.js';
import { expectedInputs } from '../../../services/compiler/launch-plan-inputs.js';
import type { LaunchPlanInterface } from '../../../services/compiler/graph/scope.js';
import { singleTaskWorkflow } from '../../../services/compiler/single-task.js';
import { compileTask } from '../../../services/compiler/task.js';
import { compileWorkflow } from '../../../services/compiler/workflow.js';
import { type FixtureEntry, fixtureFolders } from '../../support/requests/fixtures.js';

/** A launch plan as launches need it: its interface, its workflow and its fixed inputs. */
type LaunchPlan = LaunchPlanInterface & { readonly workflowId: Identifier; readonly fixed: LiteralMap | undefined };

/**
 * The registered definitions, compiled, each by its `identifierKey`, and the requests of the fixtures that launch
 * executions.
 */
export type World = {
  readonly tasks: Map<string, CompiledTask>;
  readonly workflows: Map<string, CompiledWorkflowClosure>;
  readonly launchPlans: Map<string, LaunchPlan>;
  readonly executions: { readonly fixture: string; readonly bytes: Uint8Array }[];
};

/** The workflow and the inputs of an execution, as the control plane resolves them. */
export type Launched = { readonly closure: CompiledWorkflowClosure; readonly inputs: LiteralMap };

const closureOf = (result: ReturnType<typeof compileWorkflow>): CompiledWorkflowClosure => {
  if ('errors' in result) throw new Error(result.errors.map(({ nodeId, text }) => `${nodeId}: ${text}`).join('\n'));
  return result.closure;
};

const registerTask = (world: World, bytes: Uint8Array): void => {
  const { id, spec } = fromBinary(TaskCreateRequestSchema, bytes);
  const result = compileTask({ ...spec!.template!, id: id! });
  if ('errors' in result) throw new Error(result.errors.map(({ text }) => text).join('\n'));
  world.tasks.set(identifierKey(id!), result.task);
};

const compile = (
  world: World,
  template: Parameters<typeof compileWorkflow>[0]['template'],
  subWorkflows: readonly (typeof template)[],
) =>
  closureOf(
    compileWorkflow({
      template,
      subWorkflows,
      task: (each) => world.tasks.get(identifierKey(each)),
      launchPlan: (each) => world.launchPlans.get(identifierKey(each)),
    }),
  );

const registerWorkflow = (world: World, bytes: Uint8Array): void => {
  const { id, spec } = fromBinary(WorkflowCreateRequestSchema, bytes);
  world.workflows.set(identifierKey(id!), compile(world, { ...spec!.template!, id: id! }, spec!.subWorkflows));
};

const registerLaunchPlan = (world: World, bytes: Uint8Array): void => {
  const { id, spec } = fromBinary(LaunchPlanCreateRequestSchema, bytes);
  const { workflowId, defaultInputs, fixedInputs } = spec!;
  const typed = world.workflows.get(identifierKey(workflowId!))!.primary!.template!.interface;
  world.launchPlans.set(identifierKey(id!), {
    workflowId: workflowId!,
    fixed: fixedInputs,
    expectedInputs: expectedInputs({ workflowInputs: typed?.inputs, defaultInputs, fixedInputs }),
    expectedOutputs: typed?.outputs,
  });
};

const register = (world: World, fixture: string, { kind, bytes }: FixtureEntry): void => {
  if (kind === 'task') registerTask(world, bytes);
  if (kind === 'workflow') registerWorkflow(world, bytes);
  if (kind === 'launch_plan') registerLaunchPlan(world, bytes);
  if (kind === 'execution') world.executions.push({ fixture, bytes });
};

/** A world in which all fixtures are registered. */
export const registeredWorld = (): World => {
  const world: World = { tasks: new Map(), workflows: new Map(), launchPlans: new Map(), executions: [] };
  for (const { name, entries } of fixtureFolders()) for (const entry of entries) register(world, name, entry);
  return world;
};

/**
 * Resolves the workflow and inputs of an execution of a launch plan or of a single task.
 * @throws when the launch would be refused.
 */
export const launch = (world: World, id: Identifier, given: LiteralMap | undefined): Launched => {
  if (id.resourceType === ResourceType.TASK) {
    const single = singleTaskWorkflow(world.tasks.get(identifierKey(id))!.template!);
    const resolved = resolveInputs(single.expectedInputs, undefined, given);
    if ('problem' in resolved) throw new Error(resolved.problem);
    return { closure: compile(world, single.template, []), inputs: resolved.inputs };
  }
  const plan = world.launchPlans.get(identifierKey(id))!;
  const resolved = resolveInputs(plan.expectedInputs, plan.fixed, given);
  if ('problem' in resolved) throw new Error(`${id.name}: ${resolved.problem}`);
  return { closure: world.workflows.get(identifierKey(plan.workflowId))!, inputs: resolved.inputs };
};

/** An execution that a fixture launches: the folder of the fixture, its own name, and its workflow with inputs. */
export type FixtureExecution = { readonly fixture: string; readonly name: string; readonly launched: Launched };

/** The executions that the fixtures launch. */
export const fixtureExecutions = (world: World): readonly FixtureExecution[] =>
  world.executions.map(({ fixture, bytes }) => {
    const { name, inputs, spec } = fromBinary(ExecutionCreateRequestSchema, bytes);
    return { fixture, name: name || `${fixture}-nameless`, launched: launch(world, spec!.launchPlan!, inputs) };
  });
