import type {
  TaskResourceAttributes,
  WorkflowExecutionConfig,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { QualityOfService_Tier as Tier } from '../../proto/gen/platformidl/core/execution_pb.js';

/** How long an execution of each tier may wait for its turn, in milliseconds. */
export type QueueingBudgets = Readonly<Record<Exclude<Tier, Tier.UNDEFINED>, number>>;

/** What the configuration of the platform says of executions that nobody says otherwise of. */
export type Platform = {
  readonly config: WorkflowExecutionConfig;
  readonly taskResources: TaskResourceAttributes;
  readonly budgets: QueueingBudgets;
  /** By domain. */
  readonly tiers: ReadonlyMap<string, Exclude<Tier, Tier.UNDEFINED>>;
  /** Empty: none. */
  readonly clusterLabel: string;
  /** By domain. */
  readonly clusterPools: ReadonlyMap<string, string>;
  /** Most labels and annotations that an execution runs with; 0 is no limit. */
  readonly maxLabels: number;
  readonly maxAnnotations: number;
  /** The Kubernetes namespace of a project and domain, with `{{ project }}` and `{{ domain }}` in it. */
  readonly namespace: string;
};

/** The namespace that an execution runs in. */
export const namespaceOf = ({ namespace }: Platform, project: string, domain: string): string =>
  namespace.replaceAll(/\{\{\s*project\s*\}\}/gu, () => project).replaceAll(/\{\{\s*domain\s*\}\}/gu, () => domain);
