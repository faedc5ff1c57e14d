import { type JsonObject } from '@bufbuild/protobuf';
import { type TaskResourceSpec } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type Launch } from '../launch.js';
import { given, isZero, plainJson, quantityText } from './go-json.js';

const amount = (text = ''): string => (text === '' || isZero(quantityText(text)) ? '0' : text);

const amounts = (spec: TaskResourceSpec | undefined): JsonObject => ({
  CPU: amount(spec?.cpu),
  Memory: amount(spec?.memory),
  EphemeralStorage: amount(spec?.ephemeralStorage),
  Storage: amount(spec?.storage),
  GPU: amount(spec?.gpu),
});

const pluginsJson = ({ pluginOverrides }: Launch): JsonObject =>
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
export const executionConfigJson = (launch: Launch): JsonObject => {
  const { config, recovers, taskResources } = launch;
  return given({
    TaskPluginImpls: pluginsJson(launch),
    MaxParallelism: Math.max(0, config.maxParallelism),
    RecoveryExecution: recovers ? plainJson(WorkflowExecutionIdentifierSchema, recovers) : {},
    TaskResources: { Requests: amounts(taskResources?.defaults), Limits: amounts(taskResources?.limits) },
    Interruptible: config.interruptible,
    OverwriteCache: config.overwriteCache,
    EnvironmentVariables: config.envs && Object.fromEntries(config.envs.values.map(({ key, value }) => [key, value])),
  });
};
