import { clone, create } from '@bufbuild/protobuf';

import { LabelsSchema } from '../../proto/gen/platformidl/admin/common_pb.js';
import type { ExecutionSpec } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { LaunchPlanSpec } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import {
  type WorkflowExecutionConfig,
  WorkflowExecutionConfigSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  IdentitySchema,
  type SecurityContext,
  SecurityContextSchema,
} from '../../proto/gen/platformidl/core/security_pb.js';

/** One level of configuration: the fields that a request, a launch plan and attributes have in common. */
export type ConfigLevel = Pick<
  WorkflowExecutionConfig,
  | 'maxParallelism'
  | 'securityContext'
  | 'rawOutputDataConfig'
  | 'labels'
  | 'annotations'
  | 'interruptible'
  | 'overwriteCache'
  | 'envs'
  | 'executionEnvAssignments'
>;

const hasIdentity = ({ runAs }: SecurityContext): boolean =>
  runAs !== undefined && (runAs.k8sServiceAccount !== '' || runAs.iamRole !== '' || runAs.executionIdentity !== '');

const isFilled = (map: { readonly values: object } | undefined): boolean => Object.keys(map?.values ?? {}).length > 0;

/**
 * The value of the first level that sets the field. A message is taken whole, never merged with that of another level.
 */
const first = <Field extends keyof ConfigLevel>(
  levels: readonly ConfigLevel[],
  field: Field,
  isSet: (value: NonNullable<ConfigLevel[Field]>) => boolean,
): ConfigLevel[Field] | undefined =>
  levels.map((level) => level[field]).find((value) => value !== undefined && isSet(value as NonNullable<typeof value>));

type Role = { readonly assumableIamRole: string; readonly kubernetesServiceAccount: string };

/* oxlint-disable typescript/no-deprecated -- clients in the field still send these */
const oldRoles = (spec: ExecutionSpec, plan: LaunchPlanSpec | undefined): readonly (Role | undefined)[] => [
  spec.authRole,
  plan?.authRole,
  plan?.auth,
  { assumableIamRole: plan?.role ?? '', kubernetesServiceAccount: '' },
];
/* oxlint-enable typescript/no-deprecated */

const isRole = (role: Role | undefined): role is Role =>
  role !== undefined && (role.assumableIamRole !== '' || role.kubernetesServiceAccount !== '');

const oldSecurityContext = (spec: ExecutionSpec, plan: LaunchPlanSpec | undefined): SecurityContext | undefined => {
  const role = oldRoles(spec, plan).find(isRole);
  if (role === undefined) return undefined;
  const { assumableIamRole: iamRole, kubernetesServiceAccount: k8sServiceAccount } = role;
  return create(SecurityContextSchema, { runAs: { iamRole, k8sServiceAccount } });
};

/**
 * Adds the caller as the execution identity where the context names none, also beside an IAM role or a service account.
 */
const withRunAs = (context: SecurityContext | undefined, principal: string): SecurityContext => {
  const copy = context === undefined ? create(SecurityContextSchema) : clone(SecurityContextSchema, context);
  copy.runAs ??= create(IdentitySchema);
  if (copy.runAs.executionIdentity === '') copy.runAs.executionIdentity = principal;
  return copy;
};

/**
 * Merges levels, the most important first. Each field has the value of the first level that sets it; the exception is
 * `overwriteCache`, which is true when any level sets it.
 */
export const mergedConfig = (levels: readonly ConfigLevel[]): WorkflowExecutionConfig => {
  const securityContext = first(levels, 'securityContext', hasIdentity);
  const raw = first(levels, 'rawOutputDataConfig', ({ outputLocationPrefix }) => outputLocationPrefix !== '');
  const labels = first(levels, 'labels', isFilled);
  const annotations = first(levels, 'annotations', isFilled);
  const interruptible = first(levels, 'interruptible', () => true);
  const envs = first(levels, 'envs', isFilled);
  return create(WorkflowExecutionConfigSchema, {
    // Launch plans may have been registered with a number below 0, with which no engine would run a node.
    maxParallelism: first(levels, 'maxParallelism', (value) => value > 0) ?? 0,
    ...(securityContext && { securityContext }),
    ...(raw && { rawOutputDataConfig: raw }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(interruptible !== undefined && { interruptible }),
    overwriteCache: levels.some(({ overwriteCache }) => overwriteCache),
    ...(envs && { envs }),
    executionEnvAssignments: first(levels, 'executionEnvAssignments', (list) => list.length > 0) ?? [],
  });
};

export type ConfigSources = {
  readonly spec: ExecutionSpec;
  /** Absent for a single task. */
  readonly plan: LaunchPlanSpec | undefined;
  /** The most specific first. */
  readonly attributes: readonly WorkflowExecutionConfig[];
  readonly platform: WorkflowExecutionConfig;
  readonly principal: string;
};

/**
 * Resolves the configuration of an execution: merges request, launch plan, attributes and platform, in this order, as
 * {@link mergedConfig}, and gives it an execution identity.
 */
export const resolveConfig = (sources: ConfigSources): WorkflowExecutionConfig => {
  const { spec, plan, attributes, platform, principal } = sources;
  const specificLevels: readonly ConfigLevel[] = [spec, ...(plan ? [plan] : []), ...attributes];
  const config = mergedConfig([...specificLevels, platform]);
  // The deprecated role fields come before the platform's value, and count only where no other level names an identity.
  const securityContext =
    first(specificLevels, 'securityContext', hasIdentity) ?? oldSecurityContext(spec, plan) ?? config.securityContext;
  return { ...config, securityContext: withRunAs(securityContext, principal) };
};

/** Adds the labels of the project for which the configuration has no label of that key. */
export const withProjectLabels = (
  config: WorkflowExecutionConfig,
  projectLabels: Readonly<Record<string, string>>,
): WorkflowExecutionConfig => ({
  ...config,
  labels: create(LabelsSchema, { values: { ...projectLabels, ...config.labels?.values } }),
});
