import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema } from '@bufbuild/protobuf/wkt';

import {
  type ClusterAssignment,
  ClusterAssignmentSchema,
} from '../../proto/gen/platformidl/admin/cluster_assignment_pb.js';
import type { ExecutionSpec } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { LaunchPlanSpec } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import {
  type ExecutionClusterLabel,
  ExecutionClusterLabelSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { type QualityOfService, QualityOfService_Tier as Tier } from '../../proto/gen/platformidl/core/execution_pb.js';
import { type EngineSettings, EngineSettingsSchema } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { Platform, QueueingBudgets } from './platform.js';
import type { LaunchAttributes } from './ports.js';

export type EngineSources = {
  readonly spec: ExecutionSpec;
  /** Absent for a single task. */
  readonly plan: LaunchPlanSpec | undefined;
  /** The quality of service in the workflow's metadata; absent for a single task. */
  readonly workflowQuality: QualityOfService | undefined;
  readonly attributes: LaunchAttributes;
  readonly platform: Platform;
  readonly domain: string;
  /** The cluster label in the spec of the parent execution; empty when there is none. */
  readonly inheritedLabel: string;
};

type Queueing = { readonly tier: Tier; readonly queueingBudget: Duration };

const MS = 1_000;
const NANOS_IN_MS = 1_000_000;

const durationOf = (ms: number): Duration =>
  create(DurationSchema, { seconds: BigInt(Math.floor(ms / MS)), nanos: (ms % MS) * NANOS_IN_MS });

/** Stored levels may not have been checked: an unknown tier or a negative budget counts as not set. */
const tierQueueing = (tier: Tier, budgets: QueueingBudgets): Queueing | undefined =>
  tier === Tier.HIGH || tier === Tier.MEDIUM || tier === Tier.LOW
    ? { tier, queueingBudget: durationOf(budgets[tier]) }
    : undefined;

const isBudget = (budget: Duration | undefined): budget is Duration =>
  budget !== undefined && budget.seconds >= 0n && budget.nanos >= 0;

/** The tier or the queueing budget that a level sets; `undefined` when the level sets neither. */
const queueingOf = (quality: QualityOfService | undefined, budgets: QueueingBudgets): Queueing | undefined => {
  const { designation } = quality ?? {};
  if (designation?.case === 'tier') return tierQueueing(designation.value, budgets);
  const queueingBudget = designation?.value?.queueingBudget;
  return isBudget(queueingBudget) ? { tier: Tier.UNDEFINED, queueingBudget } : undefined;
};

/**
 * The tier and queueing budget of an execution, from the first level that sets one: request, launch plan, workflow,
 * attributes, the platform's default for the domain.
 */
const queueing = ({ spec, plan, workflowQuality, attributes, platform, domain }: EngineSources): Queueing => {
  const levels = [spec.qualityOfService, plan?.qualityOfService, workflowQuality, attributes.qualityOfService];
  const configured = levels.map((level) => queueingOf(level, platform.budgets)).find((level) => level !== undefined);
  const tier = platform.tiers.get(domain) ?? Tier.MEDIUM;
  return configured ?? { tier, queueingBudget: durationOf(platform.budgets[tier]) };
};

/** The first cluster label of: the parent execution, the request, the attributes, the platform. */
const clusterLabel = (sources: EngineSources): ExecutionClusterLabel | undefined => {
  const { spec, attributes, platform, inheritedLabel } = sources;
  const levels = [inheritedLabel, spec.executionClusterLabel?.value, attributes.clusterLabel?.value];
  const value = [...levels, platform.clusterLabel].find((label) => label !== undefined && label !== '');
  return value === undefined ? undefined : create(ExecutionClusterLabelSchema, { value });
};

/** The cluster pool that the project and domain are assigned to; empty means any. */
export const assignedPool = ({ attributes, platform, domain }: Omit<EngineSources, 'spec'>): string => {
  const { clusterPoolName = '' } = attributes.clusterAssignment ?? {};
  return clusterPoolName === '' ? (platform.clusterPools.get(domain) ?? '') : clusterPoolName;
};

const clusterAssignment = (sources: EngineSources): ClusterAssignment | undefined => {
  const assigned = assignedPool(sources);
  const clusterPoolName = assigned === '' ? (sources.spec.clusterAssignment?.clusterPoolName ?? '') : assigned;
  return clusterPoolName === '' ? undefined : create(ClusterAssignmentSchema, { clusterPoolName });
};

/** Resolves the engine settings of an execution: queueing, cluster placement, task resources and plugin overrides. */
export const resolveEngineSettings = (sources: EngineSources): EngineSettings => {
  const { attributes, platform } = sources;
  const label = clusterLabel(sources);
  const assignment = clusterAssignment(sources);
  return create(EngineSettingsSchema, {
    ...queueing(sources),
    taskResources: attributes.taskResources ?? platform.taskResources,
    ...(label && { clusterLabel: label }),
    ...(assignment && { clusterAssignment: assignment }),
    ...(attributes.queue && { queue: attributes.queue }),
    ...(attributes.pluginOverrides && { pluginOverrides: attributes.pluginOverrides }),
  });
};
