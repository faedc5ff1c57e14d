import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type NamedEntityListRequestSchema,
  NamedEntityState as State,
  type NamedEntityUpdateRequestSchema,
  Sort_Direction as Direction,
} from '../../../proto/gen/platformidl/admin/common_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest } from '../../support/requests/hello.js';
import { allPages } from '../../support/clients/lists.js';
import { PLACE, registerTask, registerWorkflow } from '../../support/requests/registrations.js';
import { HELLO_TASK } from '../../support/requests/reports.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;
const { TASK, WORKFLOW, LAUNCH_PLAN, DATASET } = ResourceType;

type Update = Partial<Exclude<MessageInitShape<typeof NamedEntityUpdateRequestSchema>, { $typeName: string }>>;
type List = Partial<Exclude<MessageInitShape<typeof NamedEntityListRequestSchema>, { $typeName: string }>>;

/** The domain of the names that tests of lists read; other tests change nothing in it. */
const LISTED = { project: 'flytesnacks', domain: 'staging' };
const NAMES = Array.from({ length: 25 }, (_, index) => `job_${String(index).padStart(2, '0')}`);

/** Rows that the REST client of the tests cannot send: a field in the path or the query is empty. */
const NOT_OVER_REST = new Set([
  'no project',
  'no domain',
  'no name',
  'no identifier',
  'no resource type',
  'an empty sort key',
]);

/** The rows that can be sent over a transport. */
const askable = <Row extends readonly [string, ...unknown[]]>(way: string, rows: readonly Row[]): readonly Row[] =>
  rows.filter(([what]) => way === 'grpc' || !NOT_OVER_REST.has(what));

/** The end of a refusal that lists the allowed resource types. */
const KINDS = ' is not one of TASK, WORKFLOW, LAUNCH_PLAN';

let plane: ControlPlane;

/** Archives a name when its index is a multiple of 5, and describes it when its index is a multiple of 7. */
const setMetadata = async ({ call }: Transport, name: string, index: number): Promise<void> => {
  const state = index % 5 === 0 ? State.NAMED_ENTITY_ARCHIVED : State.NAMED_ENTITY_ACTIVE;
  const description = index % 7 === 0 ? `number ${String(index)}` : '';
  const request = { resourceType: TASK, id: { ...LISTED, name }, metadata: { state, description } };
  await call(method.updateNamedEntity, request);
};

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  for (const name of NAMES) await registerTask(plane.grpc, { ...LISTED, name });
  await registerTask(plane.grpc, { ...LISTED, name: NAMES[0]!, version: 'v2' });
  for (const [index, name] of NAMES.entries()) await setMetadata(plane.grpc, name, index);
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('names over %s', (way) => {
  let transport: Transport;
  let id: { project: string; domain: string; name: string };
  beforeAll(async () => {
    transport = plane[way];
    id = { ...PLACE, name: `noted_${way}` };
    await registerTask(transport, id);
    await registerWorkflow(transport, { name: `noted_${way}` });
  });

  /** The description and the state of the name that these tests update. */
  const read = async (resourceType = TASK) => {
    const { metadata } = await transport.call(method.getNamedEntity, { resourceType, id });
    return [metadata!.description, metadata!.state];
  };
  const update = (request: Update): Promise<unknown> =>
    transport.call(method.updateNamedEntity, { resourceType: TASK, id, ...request });

  it.each([
    ['a task', TASK],
    ['a workflow', WORKFLOW],
  ])('are there with the first version of %s, active and without a description', async (_what, resourceType) => {
    expect(await transport.call(method.getNamedEntity, { resourceType, id })).toMatchObject({
      resourceType,
      id,
      metadata: { description: '', state: State.NAMED_ENTITY_ACTIVE },
    });
  });

  it('of a launch plan are there too', async () => {
    const [plan] = withNeeds('01-hello').flatMap(({ entries }) => entries.filter(({ kind }) => kind === 'launch_plan'));
    const { project, domain, name = '' } = plan!.id;
    const request = { resourceType: LAUNCH_PLAN, id: { project, domain, name } };
    expect((await transport.call(method.getNamedEntity, request)).id).toMatchObject({ name });
  });

  it('take a description and a state, which a new version leaves as they are', async () => {
    await update({ metadata: { description: 'says hello', state: State.NAMED_ENTITY_ARCHIVED } });
    expect(await read()).toEqual(['says hello', State.NAMED_ENTITY_ARCHIVED]);
    expect(await read(WORKFLOW)).toEqual(['', State.NAMED_ENTITY_ACTIVE]);
    await registerTask(transport, { ...id, version: 'v2' });
    expect(await read()).toEqual(['says hello', State.NAMED_ENTITY_ARCHIVED]);
  });

  it('keep the description and become active when an update has neither a description nor a state', async () => {
    await update({ metadata: { description: 'kept', state: State.SYSTEM_GENERATED } });
    await update({ metadata: {} });
    expect(await read()).toEqual(['kept', State.NAMED_ENTITY_ACTIVE]);
  });

  it('record nothing when nothing changes', async () => {
    await update({ metadata: { description: 'same', state: State.NAMED_ENTITY_ACTIVE } });
    await plane.unchanged(() => update({ metadata: { description: 'same' } }));
  });

  it('that are archived are registered and launched as before', async () => {
    const recorded = helloRequest(`archived-${way}`);
    const { launchPlan } = recorded.spec!;
    const plan = { ...PLACE, name: launchPlan!.name };
    for (const resourceType of [LAUNCH_PLAN, WORKFLOW])
      await update({ resourceType, id: plan, metadata: { state: State.NAMED_ENTITY_ARCHIVED } });
    await update({ metadata: { state: State.NAMED_ENTITY_ARCHIVED } });
    await transport.call(method.createExecution, recorded);
    await registerTask(transport, { ...id, version: 'v3' });
  });

  const unknown = { ...PLACE, name: 'unknown' };
  const metadata = { description: 'x' };
  const long = 'ä'.repeat(301);

  it.each(
    askable<[string, Update, string, string]>(way, [
      [
        'no resource type',
        { resourceType: ResourceType.UNSPECIFIED },
        'INVALID_ARGUMENT',
        `resource_type: UNSPECIFIED${KINDS}`,
      ],
      ['a resource type that does not exist', { resourceType: 9 as never }, 'INVALID_ARGUMENT', 'resource_type'],
      ['a data set', { resourceType: DATASET }, 'INVALID_ARGUMENT', 'resource type DATASET'],
      ['no identifier', { id: undefined }, 'INVALID_ARGUMENT', 'missing id'],
      ['no project', { id: { ...PLACE, project: '', name: 'x' } }, 'INVALID_ARGUMENT', 'missing project'],
      ['no domain', { id: { ...PLACE, domain: '', name: 'x' } }, 'INVALID_ARGUMENT', 'missing domain'],
      ['no name', { id: { ...PLACE, name: '' } }, 'INVALID_ARGUMENT', 'missing name'],
      ['no metadata', { metadata: undefined }, 'INVALID_ARGUMENT', 'missing metadata'],
      ['a state that does not exist', { metadata: { state: 7 as never } }, 'INVALID_ARGUMENT', 'state'],
      [
        'a description of 301 letters',
        { metadata: { description: long } },
        'INVALID_ARGUMENT',
        'description cannot exceed',
      ],
      [
        'a name without a registered version',
        { id: unknown },
        'NOT_FOUND',
        `entry not found: TASK ${unknown.project}:${unknown.domain}:${unknown.name}`,
      ],
      ['a name of another kind', { resourceType: LAUNCH_PLAN }, 'NOT_FOUND', 'entry not found'],
    ]),
  )('are not updated with %s', async (_what, change, code, text) => {
    const request = { resourceType: TASK, id, metadata, ...change };
    const answer = await plane.unchanged(() => transport.attempt(method.updateNamedEntity, request));
    expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(text)]);
  });

  it.each(
    askable<[string, Update, string, string]>(way, [
      ['a data set', { resourceType: DATASET }, 'INVALID_ARGUMENT', 'resource type DATASET'],
      ['a name without a registered version', { id: unknown }, 'NOT_FOUND', 'entry not found'],
      ['a name of another kind', { resourceType: LAUNCH_PLAN }, 'NOT_FOUND', 'entry not found'],
      ['the right name in another domain', { id: { ...LISTED, name: `noted_${way}` } }, 'NOT_FOUND', 'entry not found'],
    ]),
  )('are not read for %s', async (_what, change, code, text) => {
    const answer = await transport.attempt(method.getNamedEntity, { resourceType: TASK, id, ...change });
    expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(text)]);
  });

  describe('in a list', () => {
    const page = (request: List) =>
      transport.call(method.listNamedEntities, { resourceType: TASK, ...LISTED, limit: 100, ...request });
    const names = async (request: List = {}): Promise<readonly string[]> =>
      (await page(request)).entities.map(({ id: each }) => each!.name);
    const namesWhere = (keep: (index: number) => boolean) => NAMES.filter((_, index) => keep(index));

    // In filters, state 0 is active, 1 archived and 2 generated by the system; resource type 1 is TASK.
    it.each<[string, readonly string[]]>([
      ['', NAMES],
      ['eq(state,0)', namesWhere((index) => index % 5 !== 0)],
      ['eq(state,1)', namesWhere((index) => index % 5 === 0)],
      ['value_in(state,1;2)', namesWhere((index) => index % 5 === 0)],
      ['ne(state,1)', namesWhere((index) => index % 5 !== 0)],
      ['eq(named_entity_metadata.state,1)', namesWhere((index) => index % 5 === 0)],
      ['eq(name,job_03)', ['job_03']],
      ['eq(entities.name,job_03)', ['job_03']],
      ['contains(name,_1)', namesWhere((index) => index === 1 || (index >= 10 && index < 20) || index === 21)],
      ['contains(name,\\_1)', namesWhere((index) => index >= 10 && index < 20)],
      ['contains(description,number)', namesWhere((index) => index % 7 === 0)],
      ['contains(description,number)+eq(state,1)', ['job_00']],
      ['eq(named_entity_metadata.description,number 7)', ['job_07']],
      [
        'eq(project,flytesnacks)+eq(domain,staging)+eq(resource_type,1)+eq(state,1)',
        namesWhere((index) => index % 5 === 0),
      ],
      ['gt(name,job_22)', ['job_23', 'job_24']],
      [
        'gt(named_entity_metadata.created_at,2024-01-01T00:00:00Z)',
        namesWhere((index) => index % 5 === 0 || index % 7 === 0),
      ],
      ['eq(named_entity_metadata.updated_at,2024-01-01T00:00:00Z)', []],
      ['ne(named_entity_metadata.id,0)', []],
      ['ne(named_entity_metadata.deleted_at,nothing)', []],
      ['eq(name,unknown)', []],
    ])('are found by the filter [%s], each once', async (filters, expected) => {
      expect(await names({ filters })).toEqual(expected);
    });

    it('have a description and a state', async () => {
      const { entities } = await page({ filters: 'eq(name,job_00)' });
      expect(entities).toMatchObject([
        {
          resourceType: TASK,
          id: { ...LISTED, name: 'job_00' },
          metadata: { description: 'number 0', state: State.NAMED_ENTITY_ARCHIVED },
        },
      ]);
    });

    it.each(['name', 'state', 'description', 'project', 'domain', 'resource_type'])(
      'are sorted by %s both ways, and every page but the last is full',
      async (key) => {
        const sorted = (direction: Direction) =>
          allPages(async (token) => {
            const { entities, token: next } = await page({ sortBy: { key, direction }, limit: 7, token });
            if (next !== '') expect(entities).toHaveLength(7);
            return { elements: entities.map(({ id: each }) => each!.name), token: next };
          });
        const up = await sorted(Direction.ASCENDING);
        expect(up.toSorted()).toEqual(NAMES);
        expect(await sorted(Direction.DESCENDING)).toEqual(up.toReversed());
        if (key === 'name') expect(up).toEqual(NAMES);
        // Those with a description come after those without, in the order of its text: number 0, 14, 21, 7.
        if (key === 'description') expect(up.slice(-4)).toEqual(['job_00', 'job_14', 'job_21', 'job_07']);
        if (key === 'state') expect(up.slice(-5)).toEqual(namesWhere((index) => index % 5 === 0));
      },
    );

    it('start at an offset, which counts only the names that the filter selects', async () => {
      const request = { filters: 'eq(state,1)', limit: 2, token: '2' };
      expect(await names(request)).toEqual(['job_10', 'job_15']);
    });

    it('are without those of generated workflows, unless a filter asks for these', async () => {
      const launched = helloRequest(`generated-${way}`, ({ spec }) => Object.assign(spec!.launchPlan!, HELLO_TASK));
      await transport.call(method.createExecution, launched);
      const generated = `.flytegen.${HELLO_TASK.name}`;
      const filters = 'contains(name,.flytegen)';
      expect(await names({ resourceType: WORKFLOW, ...PLACE, filters })).toEqual([generated]);
      const all = await names({ resourceType: WORKFLOW, ...PLACE });
      expect(all).not.toContain(generated);
      expect(all).toContain(`noted_${way}`);
    });

    it.each(
      askable<[string, List, string]>(way, [
        ['no project', { project: '' }, 'missing project'],
        ['no domain', { domain: '' }, 'missing domain'],
        ['no resource type', { resourceType: ResourceType.UNSPECIFIED }, 'resource_type'],
        ['a data set', { resourceType: DATASET }, 'Cannot list entity names for resource type: DATASET'],
        ['an unknown column', { filters: 'eq(version,v1)' }, "'nen.version' is invalid filter"],
        [
          'created_at without its entity',
          { filters: 'gt(created_at,2024-01-01T00:00:00Z)' },
          "'nen.created_at' is invalid filter",
        ],
        ['another entity', { filters: 'eq(task.name,x)' }, "'t' entity is not allowed in filters"],
        ['a state in words', { filters: 'eq(state,ARCHIVED)' }, 'state'],
        ['half a filter', { filters: 'eq(state,1)+' }, 'filters'],
        ['a function that does not exist', { filters: 'like(name,x)' }, 'unrecognized filter function: like'],
        ['an unknown sort key', { sortBy: { key: 'version' } }, "invalid sort key 'version'"],
        ['an empty sort key', { sortBy: {} }, "invalid sort key ''"],
        ['an invalid token', { token: '-1' }, 'ListNamedEntities'],
      ]),
    )('are not listed with %s', async (_what, change, text) => {
      const request = { resourceType: TASK, ...LISTED, ...change };
      const answer = await transport.attempt(method.listNamedEntities, request);
      expect([answer.code, answer.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
    });
  });
});

it('a resource type in a path is a number or a name', async () => {
  const path = `${PLACE.project}/${PLACE.domain}/noted_grpc`;
  const { http } = plane.server().ready;
  for (const type of ['1', 'TASK']) {
    const answer = await fetch(`${http}/api/v1/named_entities/${type}/${path}`);
    expect([answer.status, ((await answer.json()) as { resourceType: string }).resourceType]).toEqual([200, 'TASK']);
  }
});
