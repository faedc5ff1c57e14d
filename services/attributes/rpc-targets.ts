import {
  MatchableResource,
  type MatchingAttributes,
  type PluginOverride,
  PluginOverride_MissingPluginBehavior as MissingPluginBehavior,
  type PluginOverrides,
  type TaskResourceAttributes,
  type TaskResourceSpec,
  type WorkflowExecutionConfig,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { parseQuantity } from '../compiler/resources/quantity.js';
import { assertLabels } from '../kernel/values/labels.js';
import { assertQualityOfService } from '../kernel/values/quality-of-service.js';
import { invalid, missing, RpcError } from '../kernel/rpc.js';
import type { AttributeScope } from './state.js';

const QUANTITIES = [
  ['cpu', 'cpu'],
  ['gpu', 'gpu'],
  ['memory', 'memory'],
  ['storage', 'storage'],
  ['ephemeralStorage', 'ephemeral_storage'],
] as const;

/** True for a valid quantity that is not negative; an empty one means "not set". */
const isQuantity = (text: string): boolean => {
  const quantity = parseQuantity(text);
  return text === '' || (quantity !== undefined && quantity.numerator >= 0n);
};

const assertQuantities = (where: string, spec: TaskResourceSpec | undefined): void => {
  const wrong = QUANTITIES.find(([key]) => spec !== undefined && !isQuantity(spec[key]));
  if (wrong !== undefined)
    throw invalid(`${where}.${wrong[1]}`, 'it is not a quantity of 0 or more, such as 500m or 1Gi');
};

const assertTaskResources = ({ defaults, limits }: TaskResourceAttributes): void => {
  assertQuantities('task_resource_attributes.defaults', defaults);
  assertQuantities('task_resource_attributes.limits', limits);
};

const assertOverride = ({ taskType, missingPluginBehavior }: PluginOverride): void => {
  if (taskType === '') throw missing('task_type');
  if (!Object.hasOwn(MissingPluginBehavior, missingPluginBehavior))
    throw invalid('missing_plugin_behavior', `${missingPluginBehavior} is not a behavior`);
};

const assertOverrides = ({ overrides }: PluginOverrides): void => overrides.forEach(assertOverride);

const assertExecutionConfig = ({ maxParallelism, labels }: WorkflowExecutionConfig): void => {
  if (maxParallelism < 0) throw invalid('max_parallelism', `${maxParallelism} is below 0`);
  assertLabels(labels);
};

const unrecognized = ({ project, domain, workflow }: AttributeScope): RpcError => {
  const scope = [project, domain, workflow].filter((part) => part !== '').join('-');
  return new RpcError('INVALID_ARGUMENT', `Unrecognized matching attributes type for request ${scope}`);
};

/**
 * Checks that attributes are of a known type and that their values are usable.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field or label that is wrong. For an unknown type it names the scope,
 * for too many labels the limit.
 */
export const assertAttributes = ({ target }: MatchingAttributes, scope: AttributeScope): void => {
  if (target.case === undefined) throw unrecognized(scope);
  if (target.case === 'taskResourceAttributes') assertTaskResources(target.value);
  if (target.case === 'pluginOverrides') assertOverrides(target.value);
  if (target.case === 'workflowExecutionConfig') assertExecutionConfig(target.value);
  if (target.case === 'qualityOfService') assertQualityOfService(target.value);
};

/** @throws {RpcError} INVALID_ARGUMENT when the number is not a resource type. */
export const assertResourceType = (resourceType: MatchableResource): void => {
  if (!Object.hasOwn(MatchableResource, resourceType))
    throw invalid('resource_type', `${resourceType} is not a resource type`);
};
