import { type Timestamp } from '@bufbuild/protobuf/wkt';
import { create } from '@bufbuild/protobuf';
import {
  type PluginOverride,
  type TaskResourceAttributes,
  type WorkflowExecutionConfig,
  WorkflowExecutionConfigSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  type CompiledWorkflowClosure,
  CompiledWorkflowClosureSchema,
} from '../../proto/gen/platformidl/core/compiler_pb.js';
import { type WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { type LiteralMap, LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { ExecutionMetadata_ExecutionMode as Mode } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { type Resources } from '../../proto/gen/platformidl/core/tasks_pb.js';
import { type WorkLaunch } from '../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type InterfaceClient } from '../client.js';
import { referenceKey } from './object/node.js';

/** One launch, with everything that an engine needs to run it. */
export type EngineLaunch = {
  readonly id: WorkflowExecutionIdentifier;
  /** Distinguishes executions that have the same name, also in another cluster or log; not unique by itself. */
  readonly launchId: string;
  readonly closure: CompiledWorkflowClosure;
  readonly inputs: LiteralMap;
  /** The resolved settings, merged from the request, the launch plan, the attributes and the defaults. */
  readonly config: WorkflowExecutionConfig;
  readonly pluginOverrides: readonly PluginOverride[];
  readonly taskResources?: TaskResourceAttributes | undefined;
  /** The execution whose finished nodes are reused. */
  readonly recovers?: WorkflowExecutionIdentifier | undefined;
  /** The time at which the control plane created the execution. */
  readonly acceptedAt?: Timestamp | undefined;
};

const { getWorkflow, getExecutionData } = AdminService.method;

const readClosure = async ({ workflow, workflowId }: WorkLaunch, client: InterfaceClient) => {
  if (workflow.case === 'closure') return workflow.value;
  const found = await client.call(getWorkflow, workflowId === undefined ? {} : { id: workflowId });
  return found.closure?.compiledWorkflow ?? create(CompiledWorkflowClosureSchema);
};

const readInputs = async ({ input }: WorkLaunch, id: WorkflowExecutionIdentifier, client: InterfaceClient) => {
  if (input.case === 'inputs') return input.value;
  if (input.case === undefined) return create(LiteralMapSchema);
  return (await client.call(getExecutionData, { id })).fullInputs ?? create(LiteralMapSchema);
};

/** Makes a closure whose containers have the resources that the control plane has resolved. */
const withResources = (closure: CompiledWorkflowClosure, { containers }: WorkLaunch): CompiledWorkflowClosure => {
  const resolved = new Map<string, Resources | undefined>(
    containers.flatMap(({ taskId, resources }) => (taskId ? [[referenceKey(taskId), resources] as const] : [])),
  );
  const tasks = closure.tasks.map((task) => {
    const { template } = task;
    const resources = template?.id && resolved.get(referenceKey(template.id));
    if (template?.target.case !== 'container' || resources === undefined) return task;
    const target = { case: 'container' as const, value: { ...template.target.value, resources } };
    return { ...task, template: { ...template, target } };
  });
  return { ...closure, tasks };
};

/** The id of a launch: the creation time of its execution in nanoseconds. */
export const launchIdOf = ({ createdAt }: { readonly createdAt?: Timestamp | undefined }): string =>
  createdAt === undefined ? '' : String(createdAt.seconds * 1_000_000_000n + BigInt(createdAt.nanos));

/** Completes a launch from its message; contents too large for the stream are read from the control plane. */
export const launchOfWork = async (
  work: WorkLaunch,
  id: WorkflowExecutionIdentifier,
  client: InterfaceClient,
): Promise<EngineLaunch> => {
  const closure: CompiledWorkflowClosure = await readClosure(work, client);
  const inputs: LiteralMap = await readInputs(work, id, client);
  const { metadata } = work.spec ?? {};
  return {
    id,
    launchId: launchIdOf(work),
    closure: withResources(closure, work),
    inputs,
    config: work.config ?? create(WorkflowExecutionConfigSchema),
    pluginOverrides: work.settings?.pluginOverrides?.overrides ?? [],
    taskResources: work.settings?.taskResources,
    recovers: metadata?.mode === Mode.RECOVERED ? metadata.referenceExecution : undefined,
    acceptedAt: work.createdAt,
  };
};
