import type {
  TaskResourceAttributes,
  WorkflowExecutionConfig,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { QualityOfService_Tier as Tier } from '../../proto/gen/platformidl/core/execution_pb.js';

/** The queueing budget of each tier: the longest time an execution may wait for its turn, in milliseconds. */
export type QueueingBudgets = Readonly<Record<Exclude<Tier, Tier.UNDEFINED>, number>>;

/** The platform's defaults and limits for executions, from the settings. */
export type Platform = {
  readonly config: WorkflowExecutionConfig;
  readonly taskResources: TaskResourceAttributes;
  readonly budgets: QueueingBudgets;
  /** The default tier of each domain that has one; MEDIUM for the others. */
  readonly tiers: ReadonlyMap<string, Exclude<Tier, Tier.UNDEFINED>>;
  /** The default cluster label; empty means none. */
  readonly clusterLabel: string;
  /** The cluster pool of each domain that has one. */
  readonly clusterPools: ReadonlyMap<string, string>;
  /**
   * The most labels and annotations of an execution of a launch plan, without the labels of the project and those that
   * a parent passes on; 0 means no limit.
   */
  readonly maxLabels: number;
  readonly maxAnnotations: number;
  /** The template of the Kubernetes namespace, with the placeholders `{{ project }}` and `{{ domain }}`. */
  readonly namespace: string;
};

/** The namespace that an execution runs in. */
export const namespaceOf = ({ namespace }: Platform, project: string, domain: string): string =>
  namespace.replaceAll(/\{\{\s*project\s*\}\}/gu, () => project).replaceAll(/\{\{\s*domain\s*\}\}/gu, () => domain);
