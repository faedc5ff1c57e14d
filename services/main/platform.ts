import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  TaskResourceAttributesSchema,
  type TaskResourceSpecSchema,
  type WorkflowExecutionConfig,
  WorkflowExecutionConfigSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { QualityOfService_Tier as Tier } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { Platform } from '../execution/platform.js';
import type { Configuration } from '../config/configuration.js';

const isFilled = (values: object): boolean => Object.keys(values).length > 0;

/** The configured defaults of executions. A setting that is not configured stays absent, but for the parallelism. */
const configOf = ({ execution, max_parallelism: maxParallelism }: Configuration): WorkflowExecutionConfig => {
  const { labels, annotations, envs, k8s_service_account: k8sServiceAccount, iam_role: iamRole } = execution;
  const { raw_output_prefix: outputLocationPrefix, overwrite_cache: overwriteCache } = execution;
  const pairs = Object.entries(envs).map(([key, value]) => ({ key, value }));
  return create(WorkflowExecutionConfigSchema, {
    maxParallelism,
    overwriteCache,
    ...(isFilled(labels) && { labels: { values: labels } }),
    ...(isFilled(annotations) && { annotations: { values: annotations } }),
    ...(pairs.length > 0 && { envs: { values: pairs } }),
    ...((k8sServiceAccount !== '' || iamRole !== '') && { securityContext: { runAs: { k8sServiceAccount, iamRole } } }),
    ...(execution.interruptible && { interruptible: true }),
    ...(outputLocationPrefix !== '' && { rawOutputDataConfig: { outputLocationPrefix } }),
  });
};

type Resources = Configuration['task_resources']['limits'];

const resourceSpec = (resources: Resources): MessageInitShape<typeof TaskResourceSpecSchema> => ({
  cpu: resources.cpu ?? '',
  gpu: resources.gpu ?? '',
  memory: resources.memory ?? '',
  storage: resources.storage ?? '',
  ephemeralStorage: resources.ephemeral_storage ?? '',
});

/** The defaults and limits of executions that the configuration gives. */
export const platformOf = (configuration: Configuration): Platform => {
  const { execution, task_resources: resources, quality_of_service: quality, registration } = configuration;
  const { HIGH, MEDIUM, LOW } = quality.queueing_budgets;
  return {
    config: configOf(configuration),
    taskResources: create(TaskResourceAttributesSchema, {
      defaults: resourceSpec(resources.defaults),
      limits: resourceSpec(resources.limits),
    }),
    budgets: { [Tier.HIGH]: HIGH, [Tier.MEDIUM]: MEDIUM, [Tier.LOW]: LOW },
    tiers: new Map(Object.entries(quality.default_tiers).map(([domain, tier]) => [domain, Tier[tier]])),
    clusterLabel: execution.cluster_label,
    clusterPools: new Map(Object.entries(execution.cluster_pools)),
    maxLabels: registration.max_label_entries,
    maxAnnotations: registration.max_annotation_entries,
    namespace: execution.namespace,
  };
};
