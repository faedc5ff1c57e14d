import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ExecutionSpecSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanSpecSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { WorkflowExecutionConfigSchema } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { resolveConfig, withProjectLabels } from '../../../services/execution/config.js';

/** The fields of a configuration at one level of precedence. */
type Level = Parameters<typeof create<typeof WorkflowExecutionConfigSchema>>[1];

/** The configuration from a request, a launch plan and attributes, in the order of precedence. */
const levels = (request: object, plan?: object, ...attributes: Level[]) => onPlatform({}, request, plan, ...attributes);

const PLATFORM_PARALLELISM = 25;

/** As `levels`, with more settings of the platform; the project has labels `team` and `tier`. */
const onPlatform = (platform: NonNullable<Level>, request: object, plan?: object, ...attributes: Level[]) =>
  withProjectLabels(
    resolveConfig({
      spec: create(ExecutionSpecSchema, request),
      plan: plan && create(LaunchPlanSpecSchema, plan),
      attributes: attributes.map((each) => create(WorkflowExecutionConfigSchema, each)),
      platform: create(WorkflowExecutionConfigSchema, { maxParallelism: PLATFORM_PARALLELISM, ...platform }),
      principal: 'ada',
    }),
    { team: 'apollo', tier: 'gold' },
  );

const role = (iamRole: string) => ({ securityContext: { runAs: { iamRole } } });

describe('the configuration of an execution', () => {
  it('takes the first parallelism above zero, that of the platform last', () => {
    expect(levels({ maxParallelism: 1 }, { maxParallelism: 2 }).maxParallelism).toBe(1);
    expect(levels({}, { maxParallelism: 2 }, { maxParallelism: 3 }).maxParallelism).toBe(2);
    expect(levels({}, {}, { maxParallelism: 3 }, { maxParallelism: 4 }).maxParallelism).toBe(3);
    expect(levels({}).maxParallelism).toBe(PLATFORM_PARALLELISM);
    expect(levels({}, { maxParallelism: -1 }).maxParallelism).toBe(PLATFORM_PARALLELISM);
  });

  it('takes the first security context that names an identity, as a whole', () => {
    const withSecrets = { securityContext: { secrets: [{ key: 'k' }] } };
    const config = levels(withSecrets, role('plan'));
    expect(config.securityContext?.runAs?.iamRole).toBe('plan');
    expect(config.securityContext?.secrets).toEqual([]);
    expect(config.securityContext?.runAs?.executionIdentity).toBe('ada');
  });

  it.each(['iamRole', 'k8sServiceAccount', 'executionIdentity'] as const)('takes %s for an identity', (field) => {
    const withRunAs = (runAs: object) => ({ securityContext: { runAs } });
    const { runAs } = levels(withRunAs({}), withRunAs({ [field]: 'plan' }), role('domain')).securityContext ?? {};
    expect(runAs).toMatchObject({ iamRole: '', k8sServiceAccount: '', executionIdentity: 'ada', [field]: 'plan' });
  });

  it('runs as the caller, in the role of the platform, when no level names another', () => {
    const runAs = (platform: object, request: object = {}) => onPlatform(platform, request).securityContext?.runAs;
    expect(runAs({})).toMatchObject({ iamRole: '', k8sServiceAccount: '', executionIdentity: 'ada' });
    expect(runAs(role('platform'))).toMatchObject({ iamRole: 'platform', executionIdentity: 'ada' });
    const old = runAs(role('platform'), { authRole: { assumableIamRole: 'old' } });
    expect(old).toMatchObject({ iamRole: 'old', k8sServiceAccount: '', executionIdentity: 'ada' });
    expect(levels({}, { authRole: {}, role: 'd' }).securityContext?.runAs).toMatchObject({
      iamRole: 'd',
      k8sServiceAccount: '',
    });
  });

  it('falls back on the older roles, the request before the launch plan', () => {
    const identity = (request: object, plan?: object) => levels(request, plan).securityContext?.runAs;
    const authRole = (assumableIamRole: string) => ({ authRole: { assumableIamRole } });
    expect(identity(authRole('a'), authRole('b'))?.iamRole).toBe('a');
    expect(identity({}, { ...authRole('b'), auth: { assumableIamRole: 'c' } })?.iamRole).toBe('b');
    expect(identity({}, { auth: { kubernetesServiceAccount: 'c' } })?.k8sServiceAccount).toBe('c');
    expect(identity({}, { role: 'd' })?.iamRole).toBe('d');
    expect(identity(authRole('a'), role('plan'))?.iamRole).toBe('plan');
  });

  it('takes the labels of the first level that has some, and the project labels that they lack', () => {
    const labels = (values: Record<string, string>) => ({ labels: { values } });
    expect(levels(labels({ tier: 'mine' }), labels({ plan: 'yes' })).labels?.values).toEqual({
      team: 'apollo',
      tier: 'mine',
    });
    expect(levels(labels({}), labels({ plan: 'yes' })).labels?.values).toMatchObject({ plan: 'yes' });
  });

  it('takes an explicit false of interruptible before a true of a level further down', () => {
    expect(levels({ interruptible: false }, { interruptible: true }).interruptible).toBe(false);
    expect(levels({}, { interruptible: true }).interruptible).toBe(true);
    expect(levels({}, {}).interruptible).toBeUndefined();
  });

  it('overwrites the cache when any level wants it', () => {
    expect(levels({ overwriteCache: false }, { overwriteCache: true }).overwriteCache).toBe(true);
    expect(levels({}, {}).overwriteCache).toBe(false);
  });

  it('takes prefix, annotations and environment of the first level that has any', () => {
    const raw = (outputLocationPrefix: string) => ({ rawOutputDataConfig: { outputLocationPrefix } });
    expect(levels(raw(''), raw('s3://plan')).rawOutputDataConfig?.outputLocationPrefix).toBe('s3://plan');
    const envs = (value: string) => ({ envs: { values: [{ key: 'K', value }] } });
    expect(levels({ envs: {} }, envs('plan'), envs('domain') as Level).envs?.values[0]?.value).toBe('plan');
    expect(levels({}, { annotations: { values: { a: 'b' } } }).annotations?.values).toEqual({ a: 'b' });
  });

  it('takes the environments of tasks from the first level that assigns any', () => {
    const assigned = (id: string) => ({ executionEnvAssignments: [{ nodeIds: ['n0'], executionEnv: { name: id } }] });
    const names = (...given: Parameters<typeof levels>) =>
      levels(...given).executionEnvAssignments.map(({ executionEnv }) => executionEnv?.name);
    expect(names({ executionEnvAssignments: [] }, assigned('plan'), assigned('domain'))).toEqual(['plan']);
    expect(names(assigned('request'), assigned('plan'))).toEqual(['request']);
    expect(names({}, {})).toEqual([]);
  });
});
