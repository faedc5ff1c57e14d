import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  ListMatchableAttributesRequestSchema,
  MatchableResource as Resource,
  type MatchingAttributes,
  MatchingAttributesSchema,
  PluginOverride_MissingPluginBehavior as MissingPluginBehavior,
} from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { Project_ProjectState as ProjectState } from '../../../proto/gen/platformidl/admin/project_pb.js';
import {
  QualityOfService_Tier as Tier,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import type { Answer, Transport } from '../../support/clients/transports.js';

const { method } = AdminService;

type Target = NonNullable<Exclude<MessageInitShape<typeof MatchingAttributesSchema>, { $typeName: string }>['target']>;
type Scope = { readonly project: string; readonly domain?: string; readonly workflow?: string };
type Level = 'project' | 'domain' | 'workflow';

/** A value for each type of matchable attributes. */
const TARGETS: readonly (readonly [keyof typeof Resource, Target])[] = [
  [
    'TASK_RESOURCE',
    { case: 'taskResourceAttributes', value: { defaults: { cpu: '500m' }, limits: { cpu: '4', memory: '8Gi' } } },
  ],
  ['CLUSTER_RESOURCE', { case: 'clusterResourceAttributes', value: { attributes: { projectQuotaCpu: '100' } } }],
  ['EXECUTION_QUEUE', { case: 'executionQueueAttributes', value: { tags: ['critical', 'gpu'] } }],
  ['EXECUTION_CLUSTER_LABEL', { case: 'executionClusterLabel', value: { value: 'gpu' } }],
  [
    'QUALITY_OF_SERVICE_SPECIFICATION',
    { case: 'qualityOfService', value: { designation: { case: 'tier', value: Tier.HIGH } } },
  ],
  [
    'PLUGIN_OVERRIDE',
    {
      case: 'pluginOverrides',
      value: {
        overrides: [
          { taskType: 'python-task', pluginId: ['a', 'b'], missingPluginBehavior: MissingPluginBehavior.USE_DEFAULT },
        ],
      },
    },
  ],
  [
    'WORKFLOW_EXECUTION_CONFIG',
    { case: 'workflowExecutionConfig', value: { maxParallelism: 7, interruptible: false, overwriteCache: true } },
  ],
  ['CLUSTER_ASSIGNMENT', { case: 'clusterAssignment', value: { clusterPoolName: 'pool' } }],
];

const attributesOf = (target: Target): MatchingAttributes => create(MatchingAttributesSchema, { target });
const label = (value: string): MatchingAttributes => attributesOf({ case: 'executionClusterLabel', value: { value } });
const LABEL = Resource.EXECUTION_CLUSTER_LABEL;

const levelOf = ({ domain, workflow }: Scope): Level => {
  if (workflow !== undefined) return 'workflow';
  return domain === undefined ? 'project' : 'domain';
};

const UPDATES = {
  project: method.updateProjectAttributes,
  domain: method.updateProjectDomainAttributes,
  workflow: method.updateWorkflowAttributes,
};
const GETS = {
  project: method.getProjectAttributes,
  domain: method.getProjectDomainAttributes,
  workflow: method.getWorkflowAttributes,
};
const DELETES = {
  project: method.deleteProjectAttributes,
  domain: method.deleteProjectDomainAttributes,
  workflow: method.deleteWorkflowAttributes,
};

/** The message types of the three levels differ only in the scope, so all RPCs are called as those of a workflow. */
type SharedShape = typeof method.updateWorkflowAttributes;

const rpcOf = (table: Readonly<Record<Level, unknown>>, scope: Scope): SharedShape =>
  table[levelOf(scope)] as SharedShape;

const update = (transport: Transport, scope: Scope, matchingAttributes: MatchingAttributes | undefined) =>
  transport.attempt(rpcOf(UPDATES, scope), {
    attributes: { ...scope, ...(matchingAttributes && { matchingAttributes }) },
  });

const updated = async (transport: Transport, scope: Scope, attributes: MatchingAttributes): Promise<void> => {
  expect(await update(transport, scope, attributes)).toMatchObject({ code: 'OK' });
};

const attempt = (transport: Transport, table: Readonly<Record<Level, unknown>>, scope: Scope, resourceType: Resource) =>
  transport.attempt(rpcOf(table, scope), { ...scope, resourceType } as never);

type Shown = {
  readonly attributes?: { readonly matchingAttributes?: MatchingAttributes | undefined } & Partial<Scope>;
};

const get = async (transport: Transport, scope: Scope, resourceType: Resource) =>
  (await transport.call(rpcOf(GETS, scope), { ...scope, resourceType } as never)) as unknown as Shown;

/** The label that applies to a scope, and the level that has it. */
const labelShown = async (transport: Transport, scope: Scope, resourceType = LABEL): Promise<string> => {
  const { attributes } = await get(transport, scope, resourceType);
  const { project = '', domain = '', workflow = '', matchingAttributes } = attributes ?? {};
  const target = matchingAttributes?.target;
  return `${target?.case === 'executionClusterLabel' ? target.value.value : ''} of ${[project, domain, workflow].join('/')}`;
};

const remove = async (transport: Transport, scope: Scope, resourceType = LABEL): Promise<void> => {
  expect(await attempt(transport, DELETES, scope, resourceType)).toMatchObject({ code: 'OK' });
};

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({
    FLIGHTLOG_PROJECTS: '[flytesnacks, grpc-own, rest-own, archived, listed-grpc, listed-rest]',
    FLIGHTLOG_EXECUTION_LABELS: '{team: platform}',
  });
  await plane.grpc.call(method.updateProject, { id: 'archived', state: ProjectState.ARCHIVED });
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('attributes over %s', (way) => {
  let transport: Transport;
  const project = `${way}-own`;
  const domain: Scope = { project, domain: 'staging' };
  const workflow: Scope = { ...domain, workflow: 'jobs.daily' };
  beforeAll(() => {
    transport = plane[way];
  });

  describe.each([
    ['a project', { project }],
    ['a domain', domain],
    ['a workflow', workflow],
  ] as const)('of %s', (_what, scope: Scope) => {
    it.each(TARGETS)('of type %s are updated, got and deleted', async (name, target) => {
      const resourceType = Resource[name];
      const attributes = attributesOf(target);
      await updated(transport, scope, attributes);
      const { attributes: got } = await get(transport, scope, resourceType);
      expect(got).toMatchObject(scope);
      expect(got?.matchingAttributes?.target.case).toBe(target.case);
      if (name !== 'WORKFLOW_EXECUTION_CONFIG') expect(got?.matchingAttributes).toEqual(attributes);
      await remove(transport, scope, resourceType);
      await plane.unchanged(() => remove(transport, scope, resourceType));
      if (name === 'WORKFLOW_EXECUTION_CONFIG' && levelOf(scope) === 'project') return;
      const { code, message } = await attempt(transport, GETS, scope, resourceType);
      expect([code, message]).toEqual(['NOT_FOUND', expect.stringMatching(/^Resource \[\{.*\}\] not found$/u)]);
      expect(message).toContain(name);
    });

    it('change nothing when they are there already', async () => {
      await updated(transport, scope, label('same'));
      await plane.unchanged(() => updated(transport, scope, label('same')));
      await remove(transport, scope);
    });
  });

  it('of the nearest level apply, and name their level', async () => {
    await updated(transport, { project }, label('of the project'));
    expect(await labelShown(transport, workflow)).toBe(`of the project of ${project}//`);
    expect(await labelShown(transport, domain)).toBe(`of the project of ${project}//`);
    await updated(transport, workflow, label('of the workflow'));
    expect(await labelShown(transport, workflow)).toBe(`of the workflow of ${project}/staging/jobs.daily`);
    expect(await labelShown(transport, domain)).toBe(`of the project of ${project}//`);
    await updated(transport, domain, label('of the domain'));
    expect(await labelShown(transport, domain)).toBe(`of the domain of ${project}/staging/`);
    expect(await labelShown(transport, { ...workflow, workflow: 'jobs.hourly' })).toBe(
      `of the domain of ${project}/staging/`,
    );
    expect(await labelShown(transport, { project, domain: 'production' })).toBe(`of the project of ${project}//`);
    expect(await labelShown(transport, { project })).toBe(`of the project of ${project}//`);
  });

  it('are deleted at one level alone', async () => {
    for (const scope of [{ project }, domain, workflow]) await updated(transport, scope, label(levelOf(scope)));
    await remove(transport, { project });
    expect(await labelShown(transport, domain)).toMatch(/^domain/u);
    await updated(transport, { project }, label('project'));
    await remove(transport, domain);
    expect(await labelShown(transport, workflow)).toMatch(/^workflow/u);
    expect(await labelShown(transport, domain)).toMatch(/^project/u);
    await remove(transport, workflow);
    expect(await labelShown(transport, workflow)).toMatch(/^project/u);
    await remove(transport, { project });
  });

  it('of a project include the execution settings of the platform, also when the project sets none', async () => {
    const config = async () => {
      const { attributes } = await get(transport, { project }, Resource.WORKFLOW_EXECUTION_CONFIG);
      const target = attributes?.matchingAttributes?.target;
      return target?.case === 'workflowExecutionConfig' ? target.value : undefined;
    };
    const platform = { maxParallelism: 25, overwriteCache: false, labels: { values: { team: 'platform' } } };
    expect(await config()).toMatchObject(platform);
    expect(await config()).not.toHaveProperty('securityContext');
    await updated(
      transport,
      { project },
      attributesOf({ case: 'workflowExecutionConfig', value: { interruptible: true } }),
    );
    expect(await config()).toMatchObject({ ...platform, interruptible: true });
    await remove(transport, { project }, Resource.WORKFLOW_EXECUTION_CONFIG);
    expect((await attempt(transport, GETS, domain, Resource.WORKFLOW_EXECUTION_CONFIG)).code).toBe('NOT_FOUND');
  });

  it('that override plugins merge by task type', async () => {
    const overrides = (...types: readonly (readonly [string, string])[]) =>
      attributesOf({
        case: 'pluginOverrides',
        value: { overrides: types.map(([taskType, plugin]) => ({ taskType, pluginId: [plugin] })) },
      });
    for (const scope of [{ project }, domain, workflow]) {
      await updated(transport, scope, overrides(['spark', levelOf(scope)], ['python', 'p']));
      await updated(transport, scope, overrides(['sql', 's'], ['spark', 'new']));
    }
    for (const scope of [{ project }, domain, workflow]) {
      const { attributes } = await get(transport, scope, Resource.PLUGIN_OVERRIDE);
      expect(attributes?.matchingAttributes).toEqual(overrides(['spark', 'new'], ['python', 'p'], ['sql', 's']));
      await remove(transport, scope, Resource.PLUGIN_OVERRIDE);
    }
  });

  it('are listed by type, the most specific first', async () => {
    const own = `listed-${way}`;
    const scopes: readonly Scope[] = [
      { project: own },
      { project: own, domain: 'staging', workflow: 'b' },
      { project: own, domain: 'staging' },
      { project: own, domain: 'staging', workflow: 'a' },
    ];
    for (const scope of scopes) await updated(transport, scope, label(levelOf(scope)));
    await updated(
      transport,
      { project: own },
      attributesOf({ case: 'executionQueueAttributes', value: { tags: ['t'] } }),
    );
    const { configurations } = await transport.call(method.listMatchableAttributes, { resourceType: LABEL });
    const scopesListed = configurations
      .filter((each) => each.project === own)
      .map((each) => `${each.domain}/${each.workflow}`);
    expect(scopesListed).toEqual(['staging/a', 'staging/b', 'staging/', '/']);
    expect(new Set(configurations.map(({ attributes }) => attributes?.target.case))).toEqual(
      new Set(['executionClusterLabel']),
    );
    const none = await transport.call(method.listMatchableAttributes, { resourceType: Resource.CLUSTER_ASSIGNMENT });
    expect(none.configurations).toEqual([]);
  });

  const unknown = (scope: Scope): Scope => ({ ...scope, project: 'unknown' });
  const DOMAIN_TEXT = 'failed to validate that project [unknown] and domain [staging] are registered';

  /** Invalid scopes, for all three RPCs of a level. */
  const SCOPES: readonly (readonly [string, Scope, string])[] = [
    ['an unknown project', unknown({ project }), 'failed to validate that project [unknown] is registered, err:'],
    ['an unknown project of a domain', unknown(domain), DOMAIN_TEXT],
    ['an unknown project of a workflow', unknown(workflow), DOMAIN_TEXT],
    ['an unknown domain', { project, domain: 'moon' }, 'domain [moon] is unrecognized by system'],
    ['an unknown domain of a workflow', { ...workflow, domain: 'moon' }, 'domain [moon] is unrecognized by system'],
    ['an archived project, with a domain', { ...domain, project: 'archived' }, 'project [archived] is not active'],
    ['an archived project of a workflow', { ...workflow, project: 'archived' }, 'project [archived] is not active'],
  ];

  const refused = async (ask: () => Promise<Answer>, text: string): Promise<void> => {
    const { code, message } = await plane.unchanged(ask);
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
  };

  it.each(SCOPES)('of %s are neither updated, nor got, nor deleted', async (_what, scope, text) => {
    await refused(() => update(transport, scope, label('x')), text);
    await refused(() => attempt(transport, GETS, scope, LABEL), text);
    await refused(() => attempt(transport, DELETES, scope, LABEL), text);
  });

  it('of an archived project are refused in an update or a deletion, but not in a get', async () => {
    const scope = { project: 'archived' };
    await refused(() => update(transport, scope, label('x')), 'project [archived] is not active');
    await refused(() => attempt(transport, DELETES, scope, LABEL), 'project [archived] is not active');
    expect((await update(transport, scope, label('x'))).details).toEqual([]);
    expect((await attempt(transport, GETS, scope, LABEL)).code).toBe('NOT_FOUND');
    const { details } = await update(transport, { ...scope, domain: 'staging' }, label('x'));
    expect(details.map(({ typeUrl }) => typeUrl)).toEqual([expect.stringContaining('admin.InactiveProject')]);
  });

  // A REST path always has all of its segments, so only gRPC can leave one out.
  it.runIf(way === 'grpc').each<readonly [string, Scope, string]>([
    ['no project', { project: '' }, 'missing project'],
    ['no project of a domain', { project: '', domain: 'staging' }, 'missing project'],
    ['no domain', { project, domain: '' }, 'missing domain'],
    ['no workflow', { project, domain: 'staging', workflow: '' }, 'missing name'],
  ])('of %s are neither updated, nor got, nor deleted', async (_what, scope, text) => {
    await refused(() => update(transport, scope, label('x')), text);
    await refused(() => attempt(transport, GETS, scope, LABEL), text);
    await refused(() => attempt(transport, DELETES, scope, LABEL), text);
  });

  it.runIf(way === 'grpc')('of a workflow with a name of more than 64 KiB are not recorded', async () => {
    const scope = { ...workflow, workflow: 'x'.repeat(65_537) };
    await refused(() => update(transport, scope, label('x')), 'invalid value for workflow: above 65536 characters');
  });

  it.runIf(way === 'grpc')('are required in an update', async () => {
    for (const rpc of Object.values(UPDATES))
      await refused(() => transport.attempt(rpc as SharedShape, {}), 'missing attributes');
  });

  it.each<readonly [string, Target | undefined, string]>([
    ['no matching attributes', undefined, 'missing matching_attributes'],
    ['no target', { case: undefined }, 'Unrecognized matching attributes type for request'],
    [
      'a default CPU that is no quantity',
      { case: 'taskResourceAttributes', value: { defaults: { cpu: 'lots' } } },
      'task_resource_attributes.defaults.cpu',
    ],
    [
      'a negative storage limit',
      { case: 'taskResourceAttributes', value: { limits: { ephemeralStorage: '-1Gi' } } },
      'task_resource_attributes.limits.ephemeral_storage',
    ],
    [
      'an override without a task type',
      { case: 'pluginOverrides', value: { overrides: [{ pluginId: ['a'] }] } },
      'task_type',
    ],
    [
      'an override with a behavior that does not exist',
      { case: 'pluginOverrides', value: { overrides: [{ taskType: 't', missingPluginBehavior: 9 as never }] } },
      'missing_plugin_behavior',
    ],
    [
      'a parallelism below zero',
      { case: 'workflowExecutionConfig', value: { maxParallelism: -1 } },
      'invalid value for max_parallelism',
    ],
    [
      'an invalid label',
      { case: 'workflowExecutionConfig', value: { labels: { values: { '-': 'x' } } } },
      'invalid label key [-]',
    ],
    [
      'a tier that does not exist',
      { case: 'qualityOfService', value: { designation: { case: 'tier', value: 9 as never } } },
      'quality_of_service.tier',
    ],
    [
      'no queueing budget',
      { case: 'qualityOfService', value: { designation: { case: 'spec', value: {} } } },
      'missing quality_of_service.spec.queueing_budget',
    ],
    [
      'a queueing budget below zero',
      {
        case: 'qualityOfService',
        value: { designation: { case: 'spec', value: { queueingBudget: { seconds: -1n } } } },
      },
      'quality_of_service.spec.queueing_budget',
    ],
    [
      'more than 64 KiB',
      { case: 'executionClusterLabel', value: { value: 'x'.repeat(65_536) } },
      'invalid value for matching_attributes: above 65536 bytes',
    ],
  ])('with %s are not recorded at any level', async (_what, target, text) => {
    const attributes = target && attributesOf(target);
    for (const scope of [{ project }, domain, workflow])
      await refused(() => update(transport, scope, attributes), text);
  });

  it('of a type that does not exist are neither got, nor deleted, nor listed', async () => {
    const resourceType = 99 as never;
    for (const scope of [{ project }, domain, workflow]) {
      await refused(() => attempt(transport, GETS, scope, resourceType), 'invalid value for resource_type');
      await refused(() => attempt(transport, DELETES, scope, resourceType), 'invalid value for resource_type');
    }
    const list = () => transport.attempt(method.listMatchableAttributes, { resourceType });
    await refused(list, 'invalid value for resource_type');
  });
});

describe('attributes in the JSON of REST', () => {
  const url = (path: string): string => `${plane.server().ready.http}/api/v1/${path}`;
  const json = async (path: string, init?: { readonly method: string; readonly body?: unknown }) => {
    const body = init?.body === undefined ? {} : { body: JSON.stringify(init.body) };
    const answer = await fetch(url(path), {
      ...(init && { method: init.method }),
      ...body,
      headers: { 'content-type': 'application/json' },
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  it.each([
    ['matchingAttributes', 'taskResourceAttributes'],
    ['matching_attributes', 'task_resource_attributes'],
  ])(
    'take %s.%s in the body; the project and domain of the path win over those of the body',
    async (matching, target) => {
      const attributes = { project: 'other', [matching]: { [target]: { defaults: { cpu: '3' } } } };
      const put = { method: 'PUT', body: { attributes } };
      expect(await json('project_domain_attributes/flytesnacks/development', put)).toEqual({ status: 200, body: {} });
      for (const query of ['', '?resource_type=TASK_RESOURCE', '?resource_type=0', '?resourceType=0']) {
        const got = await json(`project_domain_attributes/flytesnacks/development${query}`);
        expect(got.status).toBe(200);
        expect(JSON.stringify(got.body)).toContain('"cpu":"3"');
      }
      const gone = { method: 'DELETE', body: { project: 'other', domain: 'x', resource_type: 'TASK_RESOURCE' } };
      expect(await json('project_domain_attributes/flytesnacks/development', gone)).toEqual({ status: 200, body: {} });
      expect((await json('project_domain_attributes/flytesnacks/development')).status).toBe(404);
    },
  );

  it('cannot be of two types at once', async () => {
    const matching_attributes = { execution_cluster_label: { value: 'x' }, execution_queue_attributes: { tags: [] } };
    const put = { method: 'PUT', body: { attributes: { matching_attributes } } };
    const { status, body } = await plane.unchanged(() => json('project_attributes/flytesnacks', put));
    expect([status, body['code']]).toEqual([400, 3]);
  });

  it('are listed by the name or number of their type, which is TASK_RESOURCE by default', async () => {
    const put = async (matching: object, method = 'PUT') =>
      json('project_attributes/flytesnacks', { method, body: { attributes: { matching_attributes: matching } } });
    const sent = [
      { taskResourceAttributes: { limits: { cpu: '7' } } },
      { executionQueueAttributes: { tags: ['gpu'] } },
    ];
    for (const matching of sent) expect((await put(matching)).status).toBe(200);
    for (const [queries, names] of [
      [['', '?resource_type=TASK_RESOURCE', '?resource_type=0'], ['task_resource_attributes']],
      [['?resource_type=EXECUTION_QUEUE', '?resource_type=2'], ['execution_queue_attributes']],
      [['?resource_type=CLUSTER_RESOURCE', '?resource_type=1'], []],
    ] as const)
      for (const query of queries) {
        const { status, body } = await json(`matchable_attributes${query}`);
        const all = body['configurations'] as { readonly project: string; readonly attributes: object }[];
        const own = all.filter((each) => each.project === 'flytesnacks');
        const listed = own.flatMap(({ attributes }) => Object.keys(attributes));
        expect([query, status, listed]).toEqual([query, 200, names]);
      }
    for (const resource_type of ['TASK_RESOURCE', 'EXECUTION_QUEUE'])
      await json('project_attributes/flytesnacks', { method: 'DELETE', body: { resource_type } });
  });
});

describe('attributes that were acknowledged', () => {
  it('can be listed by a call that waits for the position of an event of an engine', async () => {
    const { grpc } = plane;
    const scope: Scope = { project: 'flytesnacks', domain: 'staging' };
    await updated(grpc, scope, label('listed'));
    await register(grpc, withNeeds('01-hello'));
    const executionId = await launchHello(grpc, 'at-a-position');
    const event = { executionId, phase: Phase.RUNNING, occurredAt: { seconds: 1n } };
    const { position } = await grpc.attempt(method.createWorkflowEvent, { event });
    const request = create(ListMatchableAttributesRequestSchema, { resourceType: LABEL });
    const bytes = toBinary(ListMatchableAttributesRequestSchema, request);
    const read = await grpc.send('ListMatchableAttributes', bytes, { 'flightlog-min-position': position! });
    expect(read.code).toBe('OK');
    const { configurations } = fromBinary(method.listMatchableAttributes.output, read.bytes);
    expect(configurations).toContainEqual(expect.objectContaining({ ...scope, attributes: label('listed') }));
    await remove(grpc, scope);
  });

  it('are there for the next read, also when the process is killed in between', async () => {
    let restarted = await startControlPlane();
    const { directory } = restarted;
    const scope: Scope = { project: 'flytesnacks', domain: 'development' };
    for (let round = 0; round < 3; round += 1) {
      const value = `round-${String(round)}`;
      await updated(restarted.grpc, scope, label(value));
      await restarted.kill();
      restarted = await startControlPlane({}, directory);
      expect(await labelShown(restarted.grpc, scope)).toBe(`${value} of flytesnacks/development/`);
      const { configurations } = await restarted.rest.call(method.listMatchableAttributes, { resourceType: LABEL });
      expect(configurations).toHaveLength(1);
    }
    await restarted.close();
  });
});
