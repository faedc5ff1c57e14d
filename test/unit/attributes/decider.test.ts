import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import {
  MatchableResource as Resource,
  type MatchingAttributes,
  MatchingAttributesSchema,
} from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  AttributesDeletedSchema,
  AttributesUpdatedSchema,
} from '../../../proto/gen/platformidl/eventlog/attributes_pb.js';
import { attributesDecider } from '../../../services/attributes/decider.js';
import type { AttributesEvent } from '../../../services/attributes/events.js';
import { mostSpecificRow, type AttributeScope } from '../../../services/attributes/state.js';
import { given } from '../../support/streams/given.js';

type Target = NonNullable<Exclude<MessageInitShape<typeof MatchingAttributesSchema>, { $typeName: string }>['target']>;

/** The size of large attributes or names: a little less than the limit of one row's attributes, which is 64 KiB. */
const LARGE_BYTES = 65_000;

const project: AttributeScope = { project: 'atlas', domain: '', workflow: '' };
const domain: AttributeScope = { ...project, domain: 'staging' };
const workflow: AttributeScope = { ...domain, workflow: 'daily' };

const attributes = (target: Target): MatchingAttributes => create(MatchingAttributesSchema, { target });
/** Attributes that choose the cluster of executions by a label. */
const label = (value: string): MatchingAttributes => attributes({ case: 'executionClusterLabel', value: { value } });
/** Attributes that give each task type the plugin beside it. */
const overrides = (...pairs: readonly (readonly [string, string])[]): MatchingAttributes =>
  attributes({
    case: 'pluginOverrides',
    value: { overrides: pairs.map(([taskType, plugin]) => ({ taskType, pluginId: [plugin] })) },
  });

const updated = (scope: AttributeScope, value: MatchingAttributes): AttributesEvent => ({
  type: 'AttributesUpdated',
  data: create(AttributesUpdatedSchema, { scope, attributes: value }),
});
const deleted = (scope: AttributeScope, resourceType: Resource): AttributesEvent => ({
  type: 'AttributesDeleted',
  data: create(AttributesDeletedSchema, { scope, resourceType }),
});
const update = (scope: AttributeScope, value: MatchingAttributes) =>
  ({ type: 'UpdateAttributes', scope, attributes: value }) as const;
const remove = (scope: AttributeScope, resourceType: Resource) =>
  ({ type: 'DeleteAttributes', scope, resourceType }) as const;

describe('matchable attributes', () => {
  it('are recorded for a scope', () =>
    given(attributesDecider)
      .when(update(domain, label('gpu')))
      .then(updated(domain, label('gpu'))));

  it('that are set already are not recorded again', () =>
    given(attributesDecider, updated(domain, label('gpu')))
      .when(update(domain, label('gpu')))
      .thenNothing());

  it('of another scope are recorded, although their content is the same', () =>
    given(attributesDecider, updated(domain, label('gpu')))
      .when(update(workflow, label('gpu')))
      .then(updated(workflow, label('gpu'))));

  it('of a scope are recorded, although domain and workflow of another scope, joined, read the same', () => {
    const [one, other] = [
      { ...project, domain: 'ab', workflow: 'c' },
      { ...project, domain: 'a', workflow: 'bc' },
    ] as const;
    given(attributesDecider, updated(one, label('gpu')))
      .when(update(other, label('gpu')))
      .then(updated(other, label('gpu')));
  });

  it('replace the earlier ones of their scope as a whole', () => {
    const before = attributes({ case: 'executionQueueAttributes', value: { tags: ['slow', 'old'] } });
    const after = attributes({ case: 'executionQueueAttributes', value: { tags: ['fast'] } });
    given(attributesDecider, updated(project, before)).when(update(project, after)).then(updated(project, after));
  });

  it('that override plugins are merged by task type: known task types keep their order, new ones follow', () =>
    given(attributesDecider, updated(project, overrides(['spark', 'a'], ['python', 'b'])))
      .when(update(project, overrides(['sql', 'c'], ['spark', 'd'])))
      .then(updated(project, overrides(['spark', 'd'], ['python', 'b'], ['sql', 'c']))));

  it('that override plugins are merged only with those of the same scope', () =>
    given(attributesDecider, updated(project, overrides(['spark', 'a'])), updated(workflow, overrides(['sql', 'b'])))
      .when(update(domain, overrides(['python', 'c'])))
      .then(updated(domain, overrides(['python', 'c']))));

  it('are deleted in the given scope alone', () => {
    const everywhere = [project, domain, workflow].map((scope) => updated(scope, label('gpu')));
    given(attributesDecider, ...everywhere)
      .when(remove(domain, Resource.EXECUTION_CLUSTER_LABEL))
      .then(deleted(domain, Resource.EXECUTION_CLUSTER_LABEL));
    const facts = [...everywhere, deleted(domain, Resource.EXECUTION_CLUSTER_LABEL)];
    given(attributesDecider, ...facts)
      .when(update(workflow, label('gpu')))
      .thenNothing();
    given(attributesDecider, ...facts)
      .when(update(project, label('gpu')))
      .thenNothing();
    given(attributesDecider, ...facts)
      .when(update(domain, label('gpu')))
      .then(updated(domain, label('gpu')));
  });

  it('that are not set are deleted without an event or a refusal', () =>
    given(attributesDecider, updated(workflow, label('gpu')))
      .when(remove(workflow, Resource.TASK_RESOURCE))
      .thenNothing());

  it('above 64 KiB are refused', () =>
    given(attributesDecider)
      .when(update(project, label('x'.repeat(64 * 1024))))
      .thenRefused({ kind: 'attributes-too-large' }));

  it('are refused when those of the project would exceed 8 MiB, while smaller ones still replace larger ones', () => {
    const large = label('x'.repeat(LARGE_BYTES));
    const MOST_LARGE = 128; // rows of this size; 128 are below 8 MiB, 129 are above
    const full = Array.from({ length: MOST_LARGE }, (_, index) =>
      updated({ ...workflow, workflow: `w${String(index)}` }, large),
    );
    given(attributesDecider, ...full)
      .when(update(project, large))
      .thenRefused({ kind: 'attributes-full' });
    given(attributesDecider, ...full)
      .when(update({ ...workflow, workflow: 'w0' }, label('small')))
      .then(updated({ ...workflow, workflow: 'w0' }, label('small')));
  });

  it('are counted with the names of their scopes, and with what a row takes, however small they are', () => {
    const rows = (count: number, nameLength: number) =>
      Array.from({ length: count }, (_, index) =>
        updated({ ...workflow, workflow: String(index).padEnd(nameLength, 'x') }, label('a')),
      );
    const FULL = 130; // rows with large names, together above 8 MiB
    const another = update({ ...workflow, workflow: 'another' }, label('a'));
    given(attributesDecider, ...rows(FULL, LARGE_BYTES))
      .when(another)
      .thenRefused({ kind: 'attributes-full' });
    const known = { ...workflow, workflow: '0'.padEnd(LARGE_BYTES, 'x') };
    given(attributesDecider, ...rows(FULL, LARGE_BYTES))
      .when(update(known, label('b')))
      .then(updated(known, label('b')));
    given(attributesDecider, ...rows(FULL, LARGE_BYTES))
      .when(update(known, label('longer')))
      .thenRefused({ kind: 'attributes-full' });
    // A row takes 64 bytes beside its names and attributes: 120,000 of them are above 8 MiB, 50,000 are below.
    given(attributesDecider, ...rows(120_000, 6))
      .when(another)
      .thenRefused({ kind: 'attributes-full' });
    given(attributesDecider, ...rows(50_000, 6))
      .when(another)
      .then(updated({ ...workflow, workflow: 'another' }, label('a')));
  });

  it('of the most specific scope apply', () => {
    const state = [project, workflow]
      .map((scope, index) => updated(scope, label(String(index))))
      .reduce((folded, event) => attributesDecider.evolve(folded, event), attributesDecider.initial());
    const applied = (scope: AttributeScope) => mostSpecificRow(state, Resource.EXECUTION_CLUSTER_LABEL, scope)?.scope;
    expect(applied(workflow)).toEqual(workflow);
    expect(applied({ ...domain, workflow: 'hourly' })).toEqual(project);
    expect(applied({ ...workflow, domain: 'production' })).toEqual(project);
    expect(applied(domain)).toEqual(project);
  });
});
