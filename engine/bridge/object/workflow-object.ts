import { type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { RawOutputDataConfigSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { type CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { SecurityContextSchema } from '../../../proto/gen/platformidl/core/security_pb.js';
import { type TaskTemplate, TaskTemplateSchema } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { type TaskResourceSpec } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { type EngineLaunch } from '../launch.js';
import { withoutUndefined, nonEmpty, plainJson, protoJson, UnfitLaunch, isZero, quantityText } from './go-json.js';
import { graphJson } from './graph.js';
import { objectMetadata, type MetadataOptions, type ObjectMetadata } from './metadata.js';
import { type Tasks, referenceKey } from './node.js';
import { strippedInterface } from './stripped-types.js';

const amount = (text = ''): string => (text === '' || isZero(quantityText(text)) ? '0' : text);

const amounts = (spec: TaskResourceSpec | undefined): JsonObject => ({
  CPU: amount(spec?.cpu),
  Memory: amount(spec?.memory),
  EphemeralStorage: amount(spec?.ephemeralStorage),
  Storage: amount(spec?.storage),
  GPU: amount(spec?.gpu),
});

const pluginsJson = ({ pluginOverrides }: EngineLaunch): JsonObject =>
  Object.fromEntries(
    pluginOverrides.map(({ taskType, pluginId, missingPluginBehavior }) => [
      taskType,
      { PluginIDs: [...pluginId], MissingPluginBehavior: missingPluginBehavior },
    ]),
  );

/**
 * Makes the settings of an execution, with the names of the Go fields of the engine.
 *
 * @throws {UnfitLaunch} for amounts that are not quantities of Kubernetes.
 */
const executionConfigJson = (launch: EngineLaunch): JsonObject => {
  const { config, recovers, taskResources } = launch;
  return withoutUndefined({
    TaskPluginImpls: pluginsJson(launch),
    MaxParallelism: Math.max(0, config.maxParallelism),
    RecoveryExecution: recovers ? plainJson(WorkflowExecutionIdentifierSchema, recovers) : {},
    TaskResources: { Requests: amounts(taskResources?.defaults), Limits: amounts(taskResources?.limits) },
    Interruptible: config.interruptible,
    OverwriteCache: config.overwriteCache,
    EnvironmentVariables: config.envs && Object.fromEntries(config.envs.values.map(({ key, value }) => [key, value])),
  });
};

/** The API group, and below the version and the plural name, of the resource `FlyteWorkflow`. */
export const GROUP = 'flyte.lyft.com';
export const VERSION = 'v1alpha1';
const KIND = 'FlyteWorkflow';
export const PLURAL = 'flyteworkflows';

/** The object that the engine runs. */
export type WorkflowObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMetadata;
} & Readonly<Record<string, JsonValue | ObjectMetadata>>;

export type ObjectOptions = MetadataOptions & {
  /** The version of the events that the engine sends: 0, 1 or 2. */
  readonly eventVersion: number;
  /** The address of the web page, for links; empty without one. */
  readonly consoleUrl: string;
};

const keyed = (templates: readonly TaskTemplate[]): Tasks =>
  new Map(templates.flatMap((each) => (each.id ? [[referenceKey(each.id), each] as const] : [])));

const tasksJson = (tasks: Tasks): JsonObject =>
  Object.fromEntries(
    [...tasks].map(([key, task]) => {
      const typed = task.interface && strippedInterface(task.interface);
      return [key, protoJson(TaskTemplateSchema, typed ? { ...task, interface: typed } : task)];
    }),
  );

const closureJson = ({ primary, subWorkflows, tasks: compiled }: CompiledWorkflowClosure): JsonObject => {
  const tasks = keyed(compiled.flatMap(({ template }) => (template ? [template] : [])));
  const nested = subWorkflows.flatMap((each) =>
    each.template?.id ? [[referenceKey(each.template.id), graphJson(each, tasks)] as const] : [],
  );
  return withoutUndefined({
    spec: primary && graphJson(primary, tasks),
    tasks: tasksJson(tasks),
    subWorkflows: nested.length === 0 ? undefined : Object.fromEntries(nested),
  });
};

/** Refuses a launch that lacks an input, because the engine would only fail it later. */
const assertInputs = ({ closure, inputs }: EngineLaunch): void => {
  const variables = closure.primary?.template?.interface?.inputs?.variables ?? {};
  const missing = Object.keys(variables).filter((name) => inputs.literals[name]?.value.case === undefined);
  if (missing.length > 0) throw new UnfitLaunch(`inputs without a value: ${missing.join(', ')}`);
};

const permissionsJson = ({ config: { securityContext, rawOutputDataConfig } }: EngineLaunch): JsonObject => ({
  ...withoutUndefined({ serviceAccountName: nonEmpty(securityContext?.runAs?.k8sServiceAccount) }),
  securityContext: securityContext ? plainJson(SecurityContextSchema, securityContext) : {},
  rawOutputDataConfig: rawOutputDataConfig ? plainJson(RawOutputDataConfigSchema, rawOutputDataConfig) : {},
});

/** The time of acceptance in whole seconds, the precision of times in Kubernetes. */
const acceptedAt = ({ acceptedAt: time }: EngineLaunch): JsonValue | undefined =>
  time && toJson(TimestampSchema, { ...time, nanos: 0 });

/**
 * Makes the object of a launch in the format of the Go types of the engine.
 *
 * @throws {UnfitLaunch} when the launch cannot be represented.
 */
export const workflowObject = (launch: EngineLaunch, options: ObjectOptions): WorkflowObject => {
  if (launch.closure.primary?.template?.id === undefined) throw new UnfitLaunch('the closure has no workflow');
  assertInputs(launch);
  const defaults = launch.closure.primary.template.metadataDefaults;
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: KIND,
    metadata: objectMetadata(launch, options),
    executionId: plainJson(WorkflowExecutionIdentifierSchema, launch.id),
    workflowMeta: { eventVersion: options.eventVersion },
    'node-defaults': { interruptible: defaults?.interruptible ?? false },
    ...permissionsJson(launch),
    executionConfig: executionConfigJson(launch),
    ...withoutUndefined({ acceptedAt: acceptedAt(launch), consoleUrl: nonEmpty(options.consoleUrl) }),
    status: { phase: 0 },
    inputs: protoJson(LiteralMapSchema, launch.inputs),
    ...closureJson(launch.closure),
  };
};
