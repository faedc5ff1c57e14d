import { clone, create, type DescMessage, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { NotificationSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import type { ExecutionSpecSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  LaunchPlanCreateRequestSchema,
  LaunchPlanSpecSchema,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import {
  MatchableResource,
  type MatchingAttributesSchema,
} from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  QualityOfService_Tier as Tier,
  type QualityOfServiceSchema,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import {
  Resources_ResourceName as ResourceName,
  ResourcesSchema,
} from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { WorkflowMetadataSchema } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import type { ExecutionCreated } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { executionCodec } from '../../../services/execution/events.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../../support/requests/fixtures.js';
import { literal } from '../../support/requests/hello.js';
import { PLACE, registerTask, registerWorkflow } from '../../support/requests/registrations.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;

type Init<Schema extends DescMessage> = Exclude<MessageInitShape<Schema>, { $typeName: string }>;
type Target = NonNullable<Init<typeof MatchingAttributesSchema>['target']>;
type Quality = Init<typeof QualityOfServiceSchema>;
type Notification = MessageInitShape<typeof NotificationSchema>;

/** The settings at each level; an absent level sets nothing. */
type Levels = {
  readonly request?: Init<typeof ExecutionSpecSchema>;
  readonly plan?: Init<typeof LaunchPlanSpecSchema>;
  /** The quality of service of the workflow that is launched. */
  readonly quality?: Quality;
  readonly attributes?: {
    readonly project?: readonly Target[];
    readonly domain?: readonly Target[];
    readonly workflow?: readonly Target[];
  };
  /** The labels of the project. */
  readonly labels?: Record<string, string>;
  /** The domain in which the execution is launched; by default `development`. */
  readonly domain?: string;
};

/** Settings of the platform: values for executions where no other level sets one, and two limits. */
const PLATFORM = {
  FLIGHTLOG_MAX_PARALLELISM: '9',
  FLIGHTLOG_EXECUTION_LABELS: '{from: platform}',
  FLIGHTLOG_EXECUTION_ANNOTATIONS: '{from: platform}',
  FLIGHTLOG_EXECUTION_ENVS: '{FROM: platform}',
  FLIGHTLOG_EXECUTION_K8S_SERVICE_ACCOUNT: 'platform',
  FLIGHTLOG_EXECUTION_INTERRUPTIBLE: 'true',
  FLIGHTLOG_EXECUTION_RAW_OUTPUT_PREFIX: 's3://platform',
  FLIGHTLOG_EXECUTION_CLUSTER_LABEL: 'platform',
  FLIGHTLOG_EXECUTION_CLUSTER_POOLS: '{production: main}',
  FLIGHTLOG_EXECUTION_NAMESPACE: '{{ domain }}-of-{{project}}',
  FLIGHTLOG_QUALITY_OF_SERVICE_DEFAULT_TIERS: '{production: HIGH}',
  FLIGHTLOG_REGISTRATION_MAX_LABEL_ENTRIES: '3',
  FLIGHTLOG_REGISTRATION_MAX_ANNOTATION_ENTRIES: '2',
};

const WORKFLOW = 'hello.hello';
const helloPlan = fromBinary(LaunchPlanCreateRequestSchema, fixtureBytes('01-hello/003-launch_plan.create_request.pb'));

const config = (value: Extract<Target, { case: 'workflowExecutionConfig' }>['value']): Target => ({
  case: 'workflowExecutionConfig',
  value,
});
const map = (from: string) => ({ values: { from } });
const envs = (value: string) => ({ values: [{ key: 'FROM', value }] });
const role = (iamRole: string) => ({ runAs: { iamRole } });
const raw = (outputLocationPrefix: string) => ({ outputLocationPrefix });
const tier = (value: Tier): Quality => ({ designation: { case: 'tier', value } });
const budget = (seconds: bigint): Quality => ({
  designation: { case: 'spec', value: { queueingBudget: { seconds } } },
});
const label = (value: string): Target => ({ case: 'executionClusterLabel', value: { value } });
const email = (...recipientsEmail: string[]) => ({
  phases: [Phase.SUCCEEDED],
  type: { case: 'email' as const, value: { recipientsEmail } },
});
const oldRole: Init<typeof ExecutionSpecSchema> = { authRole: { assumableIamRole: 'old' } };
const notify = (...notifications: Notification[]): Init<typeof ExecutionSpecSchema> => ({
  notificationOverrides: { case: 'notifications', value: { notifications } },
});

let plane: ControlPlane;
let projectCount = 0;
beforeAll(async () => {
  plane = await startControlPlane(PLATFORM);
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

/** The last `ExecutionCreated` event in a project. */
const createdIn = async (own: ControlPlane, project: string): Promise<ExecutionCreated> => {
  const events = await own.events();
  const found = events.findLast(({ type, stream }) => type === 'ExecutionCreated' && stream.includes(`-${project}:`));
  const event = executionCodec.decode(found!.type, found!.data, 1);
  if (event.type !== 'ExecutionCreated') throw new Error('another event');
  return event.data;
};

type WorkflowScope = { readonly project: string; readonly domain: string; readonly workflow: string };

/** Sets the attributes of each level. */
const setAttributes = async (
  { call }: Transport,
  scope: WorkflowScope,
  attributes: Levels['attributes'] = {},
): Promise<void> => {
  const { project, domain } = scope;
  const matching = (targets: readonly Target[] = []) => targets.map((target) => ({ matchingAttributes: { target } }));
  for (const each of matching(attributes.project))
    await call(method.updateProjectAttributes, { attributes: { project, ...each } });
  for (const each of matching(attributes.domain))
    await call(method.updateProjectDomainAttributes, { attributes: { project, domain, ...each } });
  for (const each of matching(attributes.workflow))
    await call(method.updateWorkflowAttributes, { attributes: { ...scope, ...each } });
};

/** Sets the levels in a new project, in which the test then launches. */
const prepared = async (transport: Transport, levels: Levels) => {
  const project = `own-${String((projectCount += 1))}`;
  const { domain = 'development', labels = {}, quality } = levels;
  await transport.call(method.registerProject, { project: { id: project, name: project, labels: { values: labels } } });
  const workflow = quality === undefined ? WORKFLOW : `urgent-${project}`;
  await setAttributes(transport, { project, domain, workflow }, levels.attributes);
  if (quality !== undefined)
    await registerWorkflow(transport, { name: workflow }, ({ spec }) => {
      spec!.template!.metadata = create(WorkflowMetadataSchema, { qualityOfService: quality });
    });
  const plan = clone(LaunchPlanCreateRequestSchema, helloPlan);
  plan.id!.name = `plan-${project}`;
  plan.spec!.workflowId!.name = workflow;
  const fields = create(LaunchPlanSpecSchema, levels.plan);
  for (const key of Object.keys(levels.plan ?? {}) as (keyof typeof fields)[])
    Object.assign(plan.spec!, { [key]: fields[key] });
  await transport.call(method.createLaunchPlan, plan);
  return { project, domain, plan: plan.id! };
};

/** Sets the levels in a new project, and makes the request that launches there. */
const createRequestFor = async (transport: Transport, levels: Levels) => {
  const { project, domain, plan } = await prepared(transport, levels);
  const launchPlan = { ...PLACE, resourceType: ResourceType.LAUNCH_PLAN, name: plan.name, version: plan.version };
  return { project, domain, name: 'run', spec: { launchPlan, ...levels.request } };
};

const launched = async (transport: Transport, levels: Levels): Promise<ExecutionCreated> => {
  const createRequest = await createRequestFor(transport, levels);
  await transport.call(method.createExecution, createRequest);
  return createdIn(plane, createRequest.project);
};

/** A field, how a level sets it, how the execution shows what that level has set, and what it shows of the platform. */
type LeveledField = readonly [
  field: string,
  set: (level: string) => object,
  shown: (level: string) => object,
  platform: object | undefined,
];

/** Differs between each level and the next one. */
const isInterruptible = (level: string): boolean => ['plan', 'domain'].includes(level);

const LEVELED_FIELDS: readonly LeveledField[] = [
  [
    'max_parallelism',
    // The names of the levels differ in length.
    (level) => ({ maxParallelism: level.length }),
    (level) => ({ maxParallelism: level.length }),
    { maxParallelism: 9 },
  ],
  ['labels', (level) => ({ labels: map(level) }), (level) => ({ labels: map(level) }), { labels: map('platform') }],
  [
    'annotations',
    (level) => ({ annotations: map(level) }),
    (level) => ({ annotations: map(level) }),
    { annotations: map('platform') },
  ],
  ['envs', (level) => ({ envs: envs(level) }), (level) => ({ envs: envs(level) }), { envs: envs('platform') }],
  [
    'security_context',
    (level) => ({ securityContext: role(level) }),
    (level) => ({ securityContext: role(level) }),
    { securityContext: { runAs: { k8sServiceAccount: 'platform' } } },
  ],
  [
    'raw_output_data_config',
    (level) => ({ rawOutputDataConfig: raw(level) }),
    (level) => ({ rawOutputDataConfig: raw(level) }),
    { rawOutputDataConfig: raw('s3://platform') },
  ],
  [
    'interruptible',
    (level) => ({ interruptible: isInterruptible(level) }),
    (level) => ({ interruptible: isInterruptible(level) }),
    { interruptible: true },
  ],
];

describe.each(['grpc', 'rest'] as const)('the configuration of an execution over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  describe.each(LEVELED_FIELDS)('takes %s', (_field, set, shown, platform) => {
    const full: Levels = {
      request: set('asked'),
      plan: set('plan'),
      attributes: { project: [config(set('project'))], domain: [config(set('domain'))], workflow: [config(set('wf'))] },
    };
    const { request: _request, ...belowRequest } = full;
    const { plan: _plan, ...belowPlan } = belowRequest;

    it.each<readonly [string, Levels, object | undefined]>([
      ['the request', full, shown('asked')],
      ['the launch plan', belowRequest, shown('plan')],
      ['the attributes of the workflow', belowPlan, shown('wf')],
      [
        'the attributes of the domain',
        { attributes: { project: full.attributes!.project!, domain: full.attributes!.domain! } },
        shown('domain'),
      ],
      ['the attributes of the project', { attributes: { project: full.attributes!.project! } }, shown('project')],
      ['the platform', {}, platform],
    ])('from %s', async (_level, levels, expected) => {
      expect((await launched(transport, levels)).config).toMatchObject(expected!);
    });
  });

  type Configured = Readonly<Record<string, unknown>> & { readonly labels?: { readonly values: object } };

  it.each<readonly [string, Levels, Configured]>([
    [
      'those labels of the project whose keys the nearest level does not set',
      { labels: { team: 'geo', from: 'project' }, request: { labels: map('request') } },
      { labels: { values: { team: 'geo', from: 'request' } } },
    ],
    [
      'a map of labels as a whole, and no keys of the next level',
      { request: { labels: { values: { a: '1' } } }, plan: { labels: { values: { b: '2' } } } },
      { labels: { values: { a: '1' } } },
    ],
    [
      'an overwritten cache when the attributes of the project set it and the request does not',
      { attributes: { project: [config({ overwriteCache: true })] }, request: { overwriteCache: false } },
      { overwriteCache: true },
    ],
    [
      'the whole security context of the nearest level that names an identity',
      {
        request: { securityContext: { secrets: [{ key: 'k' }] } },
        plan: { securityContext: role('plan') },
      },
      { securityContext: { runAs: { iamRole: 'plan' }, secrets: [] } },
    ],
    [
      'the auth_role of the request rather than the identity of the platform',
      { request: oldRole },
      { securityContext: { runAs: { iamRole: 'old', k8sServiceAccount: '' } } },
    ],
    [
      'the security context of attributes rather than the auth_role of the request',
      {
        request: oldRole,
        attributes: { domain: [config({ securityContext: role('domain') })] },
      },
      { securityContext: { runAs: { iamRole: 'domain' } } },
    ],
    [
      'the attributes of the workflow and then of the project, without those of the domain',
      {
        attributes: {
          project: [config({ maxParallelism: 3, envs: envs('project') })],
          domain: [config({ maxParallelism: 4, envs: envs('domain'), annotations: map('domain') })],
          workflow: [config({ maxParallelism: 5 })],
        },
      },
      { maxParallelism: 5, envs: envs('project'), annotations: map('platform') },
    ],
  ])('has %s', async (_what, levels, expected) => {
    const { config: found } = await launched(transport, levels);
    expect(found).toMatchObject(expected);
    if (expected.labels !== undefined) expect(found?.labels?.values).toEqual(expected.labels.values);
  });

  it.each<readonly [string, Levels, object]>([
    [
      'a tier of the request',
      { request: { qualityOfService: tier(Tier.LOW) }, plan: { qualityOfService: tier(Tier.HIGH) } },
      { tier: Tier.LOW, queueingBudget: { seconds: 3_600n } },
    ],
    [
      'a tier of the launch plan',
      { plan: { qualityOfService: tier(Tier.HIGH) }, quality: tier(Tier.LOW) },
      { tier: Tier.HIGH, queueingBudget: { seconds: 60n } },
    ],
    [
      'a queueing budget of the workflow',
      { quality: budget(77n), attributes: { domain: [{ case: 'qualityOfService', value: tier(Tier.LOW) }] } },
      { tier: Tier.UNDEFINED, queueingBudget: { seconds: 77n } },
    ],
    [
      'a tier of the attributes',
      { domain: 'production', attributes: { project: [{ case: 'qualityOfService', value: tier(Tier.LOW) }] } },
      { tier: Tier.LOW },
    ],
    ['a tier of the domain', { domain: 'production' }, { tier: Tier.HIGH, queueingBudget: { seconds: 60n } }],
    ['the middle tier by default', {}, { tier: Tier.MEDIUM, queueingBudget: { seconds: 600n } }],
    [
      'the cluster label of the request',
      { request: { executionClusterLabel: { value: 'asked' } }, attributes: { domain: [label('own')] } },
      { clusterLabel: { value: 'asked' } },
    ],
    [
      'the cluster label of the attributes',
      { attributes: { project: [label('far')], workflow: [label('near')] } },
      { clusterLabel: { value: 'near' } },
    ],
    ['the cluster label of the platform', {}, { clusterLabel: { value: 'platform' } }],
    [
      'the pool of the attributes',
      {
        domain: 'production',
        attributes: { domain: [{ case: 'clusterAssignment', value: { clusterPoolName: 'own' } }] },
      },
      { clusterAssignment: { clusterPoolName: 'own' } },
    ],
    [
      'the pool of the domain',
      { domain: 'production', request: { clusterAssignment: { clusterPoolName: 'main' } } },
      { clusterAssignment: { clusterPoolName: 'main' } },
    ],
    [
      'the pool that was asked for where none is assigned',
      { request: { clusterAssignment: { clusterPoolName: 'any' } } },
      { clusterAssignment: { clusterPoolName: 'any' } },
    ],
    [
      'the queue of the attributes',
      { attributes: { workflow: [{ case: 'executionQueueAttributes', value: { tags: ['q'] } }] } },
      { queue: { tags: ['q'] } },
    ],
    [
      'the plugins of the attributes',
      {
        attributes: {
          project: [{ case: 'pluginOverrides', value: { overrides: [{ taskType: 't', pluginId: ['p'] }] } }],
        },
      },
      { pluginOverrides: { overrides: [{ taskType: 't', pluginId: ['p'] }] } },
    ],
    [
      'the task resources of the platform',
      {},
      { taskResources: { defaults: { cpu: '2', memory: '200Mi' }, limits: { cpu: '2', memory: '1Gi', gpu: '1' } } },
    ],
    [
      'the task resources of the attributes, as a whole',
      { attributes: { project: [{ case: 'taskResourceAttributes', value: { limits: { cpu: '16' } } }] } },
      { taskResources: { limits: { cpu: '16', memory: '' } } },
    ],
  ])('tells the engine %s', async (_what, levels, expected) => {
    expect((await launched(transport, levels)).engine).toMatchObject(expected);
  });

  it.each<readonly [string, Levels, string]>([
    [
      'a pool that its domain is not assigned to',
      { domain: 'production', request: { clusterAssignment: { clusterPoolName: 'other' } } },
      'cannot run on cluster pool [other]',
    ],
    [
      'more labels than the platform takes',
      { request: { labels: { values: { a: '', b: '', c: '', d: '' } } } },
      'labels has too many entries [4 > 3]',
    ],
    [
      'more annotations than the platform takes',
      { plan: { annotations: { values: { a: '', b: '', c: '' } } } },
      'annotations has too many entries [3 > 2]',
    ],
    ['a parallelism below zero', { request: { maxParallelism: -1 } }, 'invalid value for max_parallelism'],
    ['a tier that does not exist', { request: { qualityOfService: tier(9 as never) } }, 'quality_of_service.tier'],
    [
      'no queueing budget',
      { request: { qualityOfService: { designation: { case: 'spec', value: {} } } } },
      'missing quality_of_service.spec.queueing_budget',
    ],
    [
      'a queueing budget below zero',
      { request: { qualityOfService: budget(-1n) } },
      'quality_of_service.spec.queueing_budget',
    ],
    [
      '17 labels',
      {
        request: {
          labels: { values: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`l${String(n)}`, ''])) },
        },
      },
      'labels map cannot exceed 16 entries',
    ],
    ['an invalid label key', { request: { labels: { values: { 'a b': '' } } } }, 'invalid label key [a b]'],
    ['an invalid label value', { request: { labels: { values: { a: '-' } } } }, 'invalid label value [-]'],
    [
      'a notification of no type',
      { request: notify({ phases: [Phase.SUCCEEDED] }) },
      'invalid value for notification type',
    ],
    ['a notification without recipients', { request: notify(email()) }, 'missing recipients'],
    ['a notification to an empty recipient', { request: notify(email('a@example.org', '')) }, 'missing recipient'],
    [
      'a notification before the end',
      { request: notify({ ...email('a'), phases: [Phase.SUCCEEDED, Phase.RUNNING] }) },
      'invalid value for phase',
    ],
  ])('refuses %s, and records nothing', async (_what, levels, text) => {
    const createRequest = await createRequestFor(transport, levels);
    const { code, message } = await plane.unchanged(() => transport.attempt(method.createExecution, createRequest));
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
  });

  const planNotifies = { entityMetadata: { notifications: [email('plan@example.org')] } };
  it.each<readonly [string, Levels, readonly string[]]>([
    [
      'those of the request',
      { plan: planNotifies, request: notify(email('request@example.org')) },
      ['request@example.org'],
    ],
    ['those of the launch plan', { plan: planNotifies }, ['plan@example.org']],
    ['those of the launch plan for an empty list', { plan: planNotifies, request: notify() }, ['plan@example.org']],
    [
      'none where they are disabled',
      { plan: planNotifies, request: { notificationOverrides: { case: 'disableAll', value: true } } },
      [],
    ],
    ['none by default', {}, []],
    ['one that never fires', { request: notify({ ...email('never@example.org'), phases: [] }) }, ['never@example.org']],
  ])('shows as notifications %s', async (_what, levels, expected) => {
    const createRequest = await createRequestFor(transport, levels);
    const { id } = await transport.call(method.createExecution, createRequest);
    const { closure } = await transport.call(method.getExecution, { id });
    const recipients = closure!.notifications.flatMap(({ type }) => type.value?.recipientsEmail ?? []);
    expect(recipients).toEqual(expected);
  });

  it('shows the requested spec, with the resulting identity and parallelism, and its namespace', async () => {
    const levels: Levels = {
      plan: { maxParallelism: 4, labels: map('plan'), securityContext: role('plan') },
      request: { annotations: map('request') },
    };
    const createRequest = await createRequestFor(transport, levels);
    const { id } = await transport.call(method.createExecution, createRequest);
    const { spec } = await transport.call(method.getExecution, { id });
    expect(spec).toMatchObject({ maxParallelism: 4, annotations: map('request'), securityContext: role('plan') });
    expect(Object.keys(spec?.labels?.values ?? {})).toEqual([]);
    expect(spec?.metadata?.systemMetadata?.namespace).toBe(`development-of-${createRequest.project}`);
  });

  it('names the streams that it was read from, with the revisions that were read', async () => {
    const { read } = await launched(transport, { attributes: { project: [label('a')], domain: [label('b')] } });
    const revisions = read.map(({ stream, revision }) => [stream.split('-')[0], Number(revision)]);
    // Two updates of attributes, one for each level, have the revisions 0 and 1.
    expect(revisions).toEqual([
      ['project', 0],
      ['launchPlan', 0],
      ['attributes', 1],
    ]);
  });

  it('of a single task has the values of the platform that the request leaves out, and its spec keeps no parallelism', async () => {
    const name = `single_${way}`;
    await registerTask(transport, { name });
    const spec = { launchPlan: { ...PLACE, resourceType: ResourceType.TASK, name, version: 'v1' } };
    // More than the limit of 3, which applies to launch plans alone.
    const many = { labels: { values: { a: '', b: '', c: '', d: '' } } };
    const inputs = { literals: { name: literal('Ada'), times: literal(2n) } };
    const createRequest = { ...PLACE, name: `single-${way}`, spec: { ...spec, ...many }, inputs };
    await transport.call(method.createExecution, createRequest);
    const { config: found, engine, spec: stored } = await createdIn(plane, PLACE.project);
    expect(found).toMatchObject({ maxParallelism: 9, annotations: map('platform') });
    expect(engine).toMatchObject({ tier: Tier.MEDIUM, clusterLabel: { value: 'platform' } });
    expect(stored?.maxParallelism).toBe(0);
  });

  it('finds executions by tier and queueing budget', async () => {
    const own = await prepared(transport, {});
    const launchPlan = {
      ...PLACE,
      resourceType: ResourceType.LAUNCH_PLAN,
      name: own.plan.name,
      version: own.plan.version,
    };
    const runs: readonly (readonly [string, Quality])[] = [
      ['high', tier(Tier.HIGH)],
      ['low', tier(Tier.LOW)],
      ['own', budget(1_000n)],
    ];
    const { project, domain } = own;
    for (const [name, qualityOfService] of runs)
      await transport.call(method.createExecution, { project, domain, name, spec: { launchPlan, qualityOfService } });
    const found = async (filters: string): Promise<readonly string[]> => {
      const list = { id: { project, domain }, filters };
      const { executions } = await transport.call(method.listExecutions, list);
      return executions.map(({ id }) => id!.name).sort();
    };
    expect(await found('eq(quality_of_service,HIGH)')).toEqual(['high']);
    expect(await found('value_in(quality_of_service,LOW;UNDEFINED)')).toEqual(['low', 'own']);
    expect(await found('gt(queueing_budget,600)')).toEqual(['low', 'own']);
    expect(await found('lte(queueing_budget,1000)')).toEqual(['high', 'own']);
  });

  it('shares the task resources of attributes with registration, which checks tasks against their limits', async () => {
    const domain = way === 'grpc' ? 'staging' : 'production';
    const cpu = (value: string) =>
      registerTask(transport, { domain, name: `cpu_${way}_${value}` }, ({ spec }) => {
        const { target } = spec!.template!;
        if (target.case === 'container')
          target.value.resources = create(ResourcesSchema, { requests: [{ name: ResourceName.CPU, value }] });
      });
    const scope = { project: PLACE.project, domain };
    const limits: Target = { case: 'taskResourceAttributes', value: { limits: { cpu: '4' } } };
    await expect(cpu('3')).rejects.toThrow('greater than current limit set in the platform configuration [2]');
    await transport.call(method.updateProjectDomainAttributes, {
      attributes: { ...scope, matchingAttributes: { target: limits } },
    });
    await cpu('3');
    await expect(cpu('5')).rejects.toThrow('[4]');
    await transport.call(method.deleteProjectDomainAttributes, {
      ...scope,
      resourceType: MatchableResource.TASK_RESOURCE,
    });
    await expect(cpu('2500m')).rejects.toThrow('[2]');
  });
});

describe('attributes that were acknowledged before a kill', () => {
  it('configure the first launch after the kill', async () => {
    let restarted = await startControlPlane();
    const { directory } = restarted;
    await register(restarted.grpc, withNeeds('01-hello'));
    const { project, domain } = PLACE;
    const launchPlan = {
      ...PLACE,
      resourceType: ResourceType.LAUNCH_PLAN,
      name: helloPlan.id!.name,
      version: helloPlan.id!.version,
    };
    for (const parallelism of [3, 5, 7]) {
      const target = config({ maxParallelism: parallelism });
      await restarted.grpc.call(method.updateProjectDomainAttributes, {
        attributes: { project, domain, matchingAttributes: { target } },
      });
      await restarted.kill();
      restarted = await startControlPlane({}, directory);
      await restarted.grpc.call(method.createExecution, {
        project,
        domain,
        name: `after-${String(parallelism)}`,
        spec: { launchPlan },
      });
      expect((await createdIn(restarted, project)).config?.maxParallelism).toBe(parallelism);
    }
    await restarted.close();
  });
});
