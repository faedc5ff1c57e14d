import { type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  ApproveConditionSchema,
  type ArrayNode,
  type BranchNode,
  type GateNode,
  type IfBlock,
  type Node,
  SignalConditionSchema,
  SleepConditionSchema,
  type TaskNode,
  type WorkflowNode,
  AliasSchema,
} from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { BooleanExpressionSchema } from '../../../proto/gen/platformidl/core/condition_pb.js';
import { IdentifierSchema, type Identifier, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { BindingSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  ExtendedResourcesSchema,
  K8sPodSchema,
  type Resources,
  Resources_ResourceName,
  type Resources_ResourceEntry,
  type TaskTemplate,
} from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { ErrorSchema } from '../../../proto/gen/platformidl/core/types_pb.js';
import { goDuration, withoutUndefined, isZero, nonEmpty, plainJson, protoJson, quantityText } from './go-json.js';

/** The key of a task or a sub-workflow in a `FlyteWorkflow` object; its nodes refer to it by the same text. */
export const referenceKey = ({ resourceType, project, domain, name, version }: Identifier): string =>
  [
    `resource_type:${ResourceType[resourceType]}`,
    ...Object.entries({ project, domain, name, version }).map(([field, text]) => `${field}:${JSON.stringify(text)}`),
  ].join(' ');

/** The tasks of a closure by their keys. */
export type Tasks = ReadonlyMap<string, TaskTemplate>;

const RESOURCE_KEYS: Partial<Record<Resources_ResourceName, string>> = {
  [Resources_ResourceName.CPU]: 'cpu',
  [Resources_ResourceName.MEMORY]: 'memory',
  [Resources_ResourceName.GPU]: 'nvidia.com/gpu',
  [Resources_ResourceName.EPHEMERAL_STORAGE]: 'ephemeral-storage',
};

const amounts = (entries: readonly Resources_ResourceEntry[]): JsonObject | undefined => {
  const known = entries.flatMap(({ name, value }) => {
    const key = RESOURCE_KEYS[name];
    return key === undefined || isZero(quantityText(value)) ? [] : [[key, value] as const];
  });
  return known.length === 0 ? undefined : Object.fromEntries(known);
};

const resourcesJson = (resources: Resources | undefined): JsonObject =>
  withoutUndefined({ limits: amounts(resources?.limits ?? []), requests: amounts(resources?.requests ?? []) });

const orUndefined = <Value extends JsonValue>(values: readonly Value[]): Value[] | undefined =>
  values.length === 0 ? undefined : [...values];

const conditionJson = ({ condition }: GateNode): JsonObject => {
  switch (condition.case) {
    case 'approve':
      return { kind: 'approve', approve: protoJson(ApproveConditionSchema, condition.value) };
    case 'signal':
      return { kind: 'signal', signal: protoJson(SignalConditionSchema, condition.value) };
    case 'sleep':
      return { kind: 'sleep', sleep: protoJson(SleepConditionSchema, condition.value) };
    case undefined:
      return {};
  }
};

const workflowJson = ({ reference }: WorkflowNode): JsonObject => {
  switch (reference.case) {
    case 'launchplanRef':
      return { launchPlanRefId: protoJson(IdentifierSchema, reference.value) };
    case 'subWorkflowRef':
      return { subWorkflowRef: referenceKey(reference.value) };
    case undefined:
      return {};
  }
};

const arrayJson = (array: ArrayNode, tasks: Tasks): JsonObject => {
  const { node, parallelismOption, successCriteria } = array;
  return withoutUndefined({
    SubNodeSpec: node && nodeJson(node, tasks),
    Parallelism: parallelismOption.case === 'parallelism' ? parallelismOption.value : undefined,
    MinSuccesses: successCriteria.case === 'minSuccesses' ? successCriteria.value : undefined,
    MinSuccessRatio: successCriteria.case === 'minSuccessRatio' ? Math.fround(successCriteria.value) : undefined,
    BoundInputs: orUndefined(array.boundInputs),
  });
};

const blockJson = ({ condition, thenNode }: IfBlock): JsonObject =>
  withoutUndefined({ condition: condition && protoJson(BooleanExpressionSchema, condition), then: thenNode?.id });

const branchJson = ({ ifElse }: BranchNode): JsonObject => {
  const otherwise = ifElse?.default;
  return withoutUndefined({
    if: ifElse?.case && blockJson(ifElse.case),
    elseIf: orUndefined((ifElse?.other ?? []).map(blockJson)),
    else: otherwise?.case === 'elseNode' ? otherwise.value.id : undefined,
    elseFail: otherwise?.case === 'error' ? plainJson(ErrorSchema, otherwise.value) : undefined,
  });
};

const START_OR_END: Readonly<Record<string, string>> = { 'start-node': 'start', 'end-node': 'end' };

const targetJson = ({ id, target }: Node, tasks: Tasks): JsonObject => {
  switch (target.case) {
    case 'taskNode':
      return withoutUndefined({ kind: 'task', task: taskKey(target.value) });
    case 'workflowNode':
      return { kind: 'workflow', workflow: workflowJson(target.value) };
    case 'branchNode':
      return { kind: 'branch', branch: branchJson(target.value) };
    case 'gateNode':
      return { kind: 'gate', gate: conditionJson(target.value) };
    case 'arrayNode':
      return { kind: 'array', array: arrayJson(target.value, tasks) };
    case undefined:
      return { kind: START_OR_END[id] ?? '' };
  }
};

const taskKey = ({ reference }: TaskNode): string | undefined =>
  reference.case === 'referenceId' ? referenceKey(reference.value) : undefined;

/** The retries of the node, or those of its task when the node has none. */
const retryJson = ({ metadata, target }: Node, tasks: Tasks): JsonObject | undefined => {
  const key = target.case === 'taskNode' ? taskKey(target.value) : undefined;
  const task = key === undefined ? undefined : tasks.get(key);
  const retries = [metadata, task?.metadata].map((each) => each?.retries?.retries ?? 0).find((count) => count !== 0);
  return retries === undefined ? undefined : { minAttempts: retries + 1 };
};

const overridesJson = ({ target }: Node): JsonObject => {
  const overrides = target.case === 'taskNode' ? target.value.overrides : undefined;
  const { extendedResources, podTemplate } = overrides ?? {};
  return withoutUndefined({
    resources: resourcesJson(overrides?.resources),
    extendedResources: extendedResources && protoJson(ExtendedResourcesSchema, extendedResources),
    containerImage: nonEmpty(overrides?.containerImage),
    podTemplate: podTemplate && plainJson(K8sPodSchema, podTemplate),
  });
};

const metadataJson = ({ metadata }: Node): JsonObject => {
  const timeout = metadata?.timeout;
  const interruptible = metadata?.interruptibleValue;
  return withoutUndefined({
    name: nonEmpty(metadata?.name),
    executionDeadline: timeout && goDuration(timeout),
    activeDeadline: timeout && goDuration(timeout, 2n), // twice the timeout, as Flyte sets it
    interruptible: interruptible?.case === 'interruptible' ? interruptible.value : undefined,
  });
};

/**
 * Makes one node in the format of the engine. The nodes inside a branch are siblings of the branch node.
 *
 * @throws {UnfitLaunch} when an amount is not a quantity of Kubernetes, or a value has no JSON.
 */
export const nodeJson = (node: Node, tasks: Tasks): JsonObject => ({
  id: node.id,
  ...metadataJson(node),
  ...overridesJson(node),
  ...targetJson(node, tasks),
  ...withoutUndefined({
    retry: retryJson(node, tasks),
    inputBindings: orUndefined(node.inputs.map((binding) => protoJson(BindingSchema, binding))),
    outputAlias: orUndefined(node.outputAliases.map((alias) => plainJson(AliasSchema, alias))),
  }),
});
