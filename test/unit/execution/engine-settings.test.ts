import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ExecutionSpecSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanSpecSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import {
  ExecutionQueueAttributesSchema,
  PluginOverridesSchema,
} from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  QualityOfService_Tier as Tier,
  QualityOfServiceSchema,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { resolveEngineSettings } from '../../../services/execution/engine-settings.js';
import { namespaceOf, type Platform } from '../../../services/execution/platform.js';
import type { LaunchAttributes } from '../../../services/execution/ports.js';
import { configure } from '../../../services/config/configuration.js';
import { platformOf } from '../../../services/main/platform.js';

type Quality = MessageInitShape<typeof QualityOfServiceSchema>;

const NONE: LaunchAttributes = {
  configs: [],
  taskResources: undefined,
  qualityOfService: undefined,
  clusterLabel: undefined,
  clusterAssignment: undefined,
  queue: undefined,
  pluginOverrides: undefined,
  read: undefined,
};

/** A platform whose only setting is a budget that is no whole number of seconds. */
const BARE = platformOf(
  configure([{ path: ['quality_of_service', 'queueing_budgets', 'MEDIUM'], value: '1500ms', origin: 'test' }]),
);

const platform = platformOf(
  configure(
    [
      [['quality_of_service', 'default_tiers', 'production'], 'HIGH'],
      [['quality_of_service', 'queueing_budgets', 'LOW'], '1h30m'],
      [['execution', 'cluster_label'], 'anywhere'],
      [['execution', 'cluster_pools'], { production: 'main' }],
      [['execution', 'namespace'], 'ns-{{domain}}-{{ project }}-$&'],
      [['task_resources', 'limits'], { cpu: '8' }],
    ].map(([path, value]) => ({ path: path as string[], value, origin: 'test' })),
  ),
);

const quality = (init: Quality | undefined) => init && create(QualityOfServiceSchema, init);

/** The settings of an execution from the levels that can have them. */
const settings = (given: {
  readonly request?: MessageInitShape<typeof ExecutionSpecSchema>;
  readonly plan?: MessageInitShape<typeof LaunchPlanSpecSchema>;
  readonly workflow?: Quality;
  readonly attributes?: Partial<LaunchAttributes>;
  readonly domain?: string;
  readonly inherited?: string;
  readonly on?: Platform;
}) =>
  resolveEngineSettings({
    spec: create(ExecutionSpecSchema, given.request),
    plan: given.plan && create(LaunchPlanSpecSchema, given.plan),
    workflowQuality: quality(given.workflow),
    attributes: { ...NONE, ...given.attributes },
    platform: given.on ?? platform,
    domain: given.domain ?? 'development',
    inheritedLabel: given.inherited ?? '',
  });

const tier = (value: Tier): Quality => ({ designation: { case: 'tier', value } });
const budget = (seconds: bigint, nanos = 0): Quality => ({
  designation: { case: 'spec', value: { queueingBudget: { seconds, nanos } } },
});

describe('the quality of service of an execution', () => {
  /** The tier, and the queueing budget in seconds; by default 60 for HIGH and 600 for MEDIUM. */
  const urgency = (given: Parameters<typeof settings>[0]) => {
    const { tier: found, queueingBudget } = settings(given);
    return [found, Number(queueingBudget?.seconds)];
  };
  const everywhere = {
    request: { qualityOfService: tier(Tier.HIGH) },
    plan: { qualityOfService: tier(Tier.LOW) },
    workflow: tier(Tier.MEDIUM),
    attributes: { qualityOfService: quality(budget(7n)) },
  };

  it('is the first one of request, launch plan, workflow, attributes and domain', () => {
    expect(urgency(everywhere)).toEqual([Tier.HIGH, 60]);
    expect(urgency({ ...everywhere, request: {} })).toEqual([Tier.LOW, 5_400]);
    expect(urgency({ workflow: everywhere.workflow, attributes: everywhere.attributes })).toEqual([Tier.MEDIUM, 600]);
    expect(urgency({ attributes: everywhere.attributes })).toEqual([Tier.UNDEFINED, 7]);
    expect(urgency({ domain: 'production' })).toEqual([Tier.HIGH, 60]);
    expect(urgency({})).toEqual([Tier.MEDIUM, 600]);
  });

  it('is a queueing budget when a level has one, even of 0 seconds', () => {
    expect(urgency({ ...everywhere, request: { qualityOfService: budget(0n) } })).toEqual([Tier.UNDEFINED, 0]);
  });

  it('has a queueing budget that is exact to the millisecond', () => {
    expect(settings({ on: BARE }).queueingBudget).toMatchObject({ seconds: 1n, nanos: 500_000_000 });
  });

  it.each<[string, Quality]>([
    ['the undefined tier', tier(Tier.UNDEFINED)],
    ['a tier that does not exist', tier(9 as never)],
    ['a budget that is missing', { designation: { case: 'spec', value: {} } }],
    ['a budget below zero', budget(-1n)],
    ['a budget below zero by less than a second', budget(0n, -1)],
    ['nothing at all', {}],
  ])('is that of the next level when one has %s', (_what, plan) => {
    expect(urgency({ plan: { qualityOfService: plan }, workflow: tier(Tier.HIGH) })).toEqual([Tier.HIGH, 60]);
  });
});

describe('the place that an execution runs in', () => {
  const label = (value: string) => ({ executionClusterLabel: { value } });
  const labelled = { clusterLabel: { $typeName: 'platformidl.admin.ExecutionClusterLabel', value: 'gpu' } } as const;
  const pool = (clusterPoolName: string) => ({ clusterAssignment: { clusterPoolName } });

  it('has the first cluster label of the parent, the request, the attributes and the platform', () => {
    const found = (given: Parameters<typeof settings>[0]) => settings(given).clusterLabel?.value;
    expect(found({ inherited: 'parent', request: label('asked'), attributes: labelled })).toBe('parent');
    expect(found({ request: label('asked'), attributes: labelled })).toBe('asked');
    expect(found({ request: label(''), attributes: labelled })).toBe('gpu');
    expect(found({})).toBe('anywhere');
    expect(settings({ on: BARE }).clusterLabel).toBeUndefined();
  });

  it('has the cluster pool of the attributes, else of the domain, else of the request', () => {
    const assignment = { $typeName: 'platformidl.admin.ClusterAssignment', clusterPoolName: 'own' } as const;
    const found = (given: Parameters<typeof settings>[0]) => settings(given).clusterAssignment?.clusterPoolName;
    expect(found({ attributes: { clusterAssignment: assignment }, domain: 'production' })).toBe('own');
    expect(found({ request: pool('asked'), domain: 'production' })).toBe('main');
    expect(found({ request: pool('asked') })).toBe('asked');
    expect(found({})).toBeUndefined();
  });

  it('has a namespace made of project and domain, which are not read as patterns', () => {
    expect(namespaceOf(platform, '$1', 'd')).toBe('ns-d-$1-$&');
  });
});

describe('the settings of the tasks of an execution', () => {
  it('have the resources of the platform, unless attributes replace them as a whole', () => {
    expect(settings({}).taskResources).toMatchObject({ defaults: { cpu: '2', memory: '200Mi' }, limits: { cpu: '8' } });
    const own = { $typeName: 'platformidl.admin.TaskResourceAttributes' } as const;
    expect(settings({ attributes: { taskResources: own } }).taskResources).toEqual(own);
  });

  it('have a queue and plugins only when attributes name them', () => {
    const queue = create(ExecutionQueueAttributesSchema, { tags: ['gpu'] });
    const pluginOverrides = create(PluginOverridesSchema, { overrides: [{ taskType: 'spark', pluginId: ['k8s'] }] });
    expect(settings({ attributes: { queue, pluginOverrides } })).toMatchObject({ queue, pluginOverrides });
    expect(settings({})).not.toHaveProperty('queue');
    expect(settings({})).not.toHaveProperty('pluginOverrides');
  });
});
