import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  DescriptionFormat,
  type DescriptionEntityListRequestSchema,
  DescriptionEntitySchema,
} from '../../../proto/gen/platformidl/admin/description_entity_pb.js';
import { type IdentifierSchema, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { allPages } from '../../support/clients/lists.js';
import { PLACE, registerTask, registerWorkflow } from '../../support/requests/registrations.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;
const { TASK, WORKFLOW, LAUNCH_PLAN, DATASET, UNSPECIFIED } = ResourceType;

type Plain<Desc extends { readonly $typeName?: string }> = Partial<Exclude<Desc, { $typeName: string }>>;
type List = Plain<MessageInitShape<typeof DescriptionEntityListRequestSchema>>;
type Id = Plain<MessageInitShape<typeof IdentifierSchema>>;
type Description = Plain<MessageInitShape<typeof DescriptionEntitySchema>>;

/** Rows that the REST client of the tests cannot send: a field in the path or the query is empty. */
const NOT_OVER_REST = new Set(['no identifier', 'no resource type', 'no project', 'no domain', 'no version']);

/** The rows that can be sent over a transport. */
const askable = <Row extends readonly [string, ...unknown[]]>(way: string, rows: readonly Row[]): readonly Row[] =>
  rows.filter(([what]) => way === 'grpc' || !NOT_OVER_REST.has(what));

const WHOLE: Description = {
  shortDescription: 'Greets',
  longDescription: {
    content: { case: 'value', value: '# Greets\n\nevery one of *them*' },
    format: DescriptionFormat.MARKDOWN,
    iconLink: 'https://example.org/icon.png',
  },
  sourceCode: { link: 'https://example.org/greet.py' },
  tags: ['greeting', 'sample'],
};

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('descriptions over %s', (way) => {
  let transport: Transport;
  const name = `described_${way}`;
  const id = { resourceType: TASK, ...PLACE, name, version: 'v1' };

  const describeTask = (version: string, description: Description): Promise<void> =>
    registerTask(transport, { name, version }, ({ spec }) => {
      spec!.description = create(DescriptionEntitySchema, description);
    });

  beforeAll(async () => {
    transport = plane[way];
    await describeTask('v1', WHOLE);
    await describeTask('v2', { shortDescription: 'B' });
    await describeTask('v3', { shortDescription: 'A', sourceCode: { link: 'https://example.org/a' } });
    await registerTask(transport, { name, version: 'v4' }, ({ spec }) => delete spec!.description);
    await registerWorkflow(transport, { name, version: 'v1' }, ({ spec }) => {
      spec!.description = create(DescriptionEntitySchema, { shortDescription: 'a workflow' });
    });
  });

  it('are whole, under the identifier of what they describe', async () => {
    expect(await transport.call(method.getDescriptionEntity, { id })).toMatchObject({ ...WHOLE, id });
  });

  it('of a task and a workflow with the same name and version are two', async () => {
    const found = await transport.call(method.getDescriptionEntity, { id: { ...id, resourceType: WORKFLOW } });
    expect([found.id!.resourceType, found.shortDescription]).toEqual([WORKFLOW, 'a workflow']);
  });

  it('have a long description and a source code, which are empty where the author gives none', async () => {
    const found = await transport.call(method.getDescriptionEntity, { id: { ...id, version: 'v2' } });
    expect(found).toMatchObject({ longDescription: { format: DescriptionFormat.UNKNOWN }, sourceCode: { link: '' } });
  });

  it('appear in answers about the task and the workflow, in their short form', async () => {
    const task = await transport.call(method.getTask, { id });
    const workflow = await transport.call(method.getWorkflow, { id: { ...id, resourceType: WORKFLOW } });
    expect([task.shortDescription, workflow.shortDescription]).toEqual(['Greets', 'a workflow']);
  });

  it.each(
    askable<[string, Id | undefined, string, string]>(way, [
      ['no identifier', undefined, 'INVALID_ARGUMENT', 'missing id'],
      ['no project', { project: '' }, 'INVALID_ARGUMENT', 'missing project'],
      ['no domain', { domain: '' }, 'INVALID_ARGUMENT', 'missing domain'],
      ['no version', { version: '' }, 'INVALID_ARGUMENT', 'missing version'],
      ['a data set', { resourceType: DATASET }, 'INVALID_ARGUMENT', 'DATASET'],
      ['a resource type that does not exist', { resourceType: 12 as never }, 'INVALID_ARGUMENT', 'resource_type'],
      ['a version without a description', { version: 'v4' }, 'NOT_FOUND', 'entry not found'],
      ['a version that is not registered', { version: 'v9' }, 'NOT_FOUND', 'entry not found: TASK '],
      ['a launch plan', { resourceType: LAUNCH_PLAN }, 'NOT_FOUND', 'entry not found'],
    ]),
  )('are not answered for %s', async (_what, change, code, text) => {
    const request = change === undefined ? {} : { id: { ...id, ...change } };
    const answer = await transport.attempt(method.getDescriptionEntity, request);
    expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(text)]);
  });

  const page = (request: List) =>
    transport.call(method.listDescriptionEntities, { resourceType: TASK, id: { ...PLACE, name }, ...request });
  const versions = async (request: List = {}): Promise<readonly string[]> =>
    (await page(request)).descriptionEntities.map(({ id: each }) => each!.version);

  it('of a name are listed whole, the newest first', async () => {
    const { descriptionEntities } = await page({});
    expect(descriptionEntities.map(({ id: each }) => each!.version)).toEqual(['v3', 'v2', 'v1']);
    expect(descriptionEntities.at(-1)).toMatchObject(WHOLE);
    expect(await versions({ resourceType: WORKFLOW })).toEqual(['v1']);
    expect(await versions({ resourceType: LAUNCH_PLAN })).toEqual([]);
  });

  it.each([
    ['eq(version,v2)', ['v2']],
    ['eq(task.version,v2)', ['v2']],
    ['value_in(version,v1;v3)', ['v3', 'v1']],
    ['contains(short_description,reet)', ['v1']],
    ['ne(version,v3)', ['v2', 'v1']],
    ['lt(created_at,2024-01-01T00:00:00Z)', []],
    ['gt(id,0)', ['v3', 'v2', 'v1']],
    ['eq(deleted_at,2024-01-01T00:00:00Z)', []],
  ])('are found by %s', async (filters, expected) => {
    expect(await versions({ filters })).toEqual(expected);
  });

  it.each([
    ['version', ['v1', 'v2', 'v3']],
    ['created_at', ['v1', 'v2', 'v3']],
    ['id', ['v1', 'v2', 'v3']],
    ['deleted_at', undefined],
    ['short_description', ['v3', 'v2', 'v1']],
    ['long_description', ['v2', 'v3', 'v1']],
    ['link', ['v2', 'v3', 'v1']],
    ['resource_type', undefined],
    ['project', undefined],
    ['domain', undefined],
    ['name', undefined],
  ])('are sorted by %s, page by page', async (key, expected) => {
    const sorted = (direction: Direction) =>
      allPages(async (token) => {
        const { descriptionEntities, token: next } = await page({ sortBy: { key, direction }, limit: 1, token });
        return { elements: descriptionEntities.map(({ id: each }) => each!.version), token: next };
      });
    const up = await sorted(Direction.ASCENDING);
    if (expected !== undefined) expect(up).toEqual(expected);
    expect(up.toSorted()).toEqual(['v1', 'v2', 'v3']);
    expect(await sorted(Direction.DESCENDING)).toEqual(up.toReversed());
  });

  it.each(
    askable<[string, List, string]>(way, [
      ['no resource type', { resourceType: UNSPECIFIED }, 'resource_type'],
      ['no project', { id: { ...PLACE, project: '', name } }, 'missing project'],
      ['no domain', { id: { ...PLACE, domain: '', name } }, 'missing domain'],
      ['no name, which one REST path leaves out', { id: { ...PLACE } }, 'missing name'],
      ['a data set', { resourceType: DATASET }, 'DATASET'],
      ['an unknown column', { filters: 'eq(author,x)' }, "'t.author' is invalid filter"],
      ['a column that is for sorting alone', { filters: 'eq(link,x)' }, "'t.link' is invalid filter"],
      ['another entity', { filters: 'eq(workflow.name,x)' }, "'w' entity is not allowed in filters"],
      ['an unknown sort key', { sortBy: { key: 'author' } }, "invalid sort key 'author'"],
      ['an invalid token', { token: '?' }, 'ListDescriptionEntities'],
    ]),
  )('are not listed with %s', async (_what, change, text) => {
    const request = { resourceType: TASK, id: { ...PLACE, name }, ...change };
    const answer = await transport.attempt(method.listDescriptionEntities, request);
    expect([answer.code, answer.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
  });

  it.each<[string, Description, string]>([
    ['256 KiB of text', { shortDescription: 'x'.repeat(256 * 1024) }, 'spec.description cannot exceed 262144 bytes'],
    ['tags of more than 256 KiB', { tags: Array.from({ length: 150_000 }, () => 'x') }, 'spec.description'],
    ['a format that does not exist', { longDescription: { format: 8 as never } }, 'long_description.format'],
  ])('with %s are refused, and the version with them', async (_what, description, text) => {
    const request = () => describeTask('v5', description).catch(String);
    await expect(plane.unchanged(request)).resolves.toContain(text);
    const answer = await transport.attempt(method.getTask, { id: { ...id, version: 'v5' } });
    expect(answer.code).toBe('NOT_FOUND');
  });

  it('of 200,000 characters are kept whole', async () => {
    const value = 'long '.repeat(40_000);
    await registerTask(transport, { name: `long_${way}` }, ({ spec }) => {
      const longDescription = { content: { case: 'value', value }, format: DescriptionFormat.HTML } as const;
      spec!.description = create(DescriptionEntitySchema, { longDescription });
    });
    const found = await transport.call(method.getDescriptionEntity, { id: { ...id, name: `long_${way}` } });
    expect(found.longDescription).toMatchObject({ content: { value }, format: DescriptionFormat.HTML });
  });
});

it('an identifier without a resource type names the description of a task', async () => {
  await registerTask(plane.grpc, { name: 'plain' }, ({ spec }) => {
    spec!.description = create(DescriptionEntitySchema, { shortDescription: 'plain' });
  });
  const id = { resourceType: UNSPECIFIED, ...PLACE, name: 'plain', version: 'v1' };
  const found = await plane.grpc.call(method.getDescriptionEntity, { id });
  expect([found.id!.resourceType, found.shortDescription]).toEqual([TASK, 'plain']);
});
