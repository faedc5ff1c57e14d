import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { levelsOf } from '../../../console/attributes/levels.js';
import {
  MatchableAttributesConfigurationSchema,
  MatchableResource as Kind,
} from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';

/** Attributes of a level: a project, a domain of it, or a workflow; an empty part means all. */
const at = (project: string, domain: string, workflow: string, value: string) =>
  create(MatchableAttributesConfigurationSchema, {
    project,
    domain,
    workflow,
    attributes: { target: { case: 'executionClusterLabel', value: { value } } },
  });

/** In the order of the server: the most specific first. */
const SET = [
  at('flytesnacks', 'development', 'hello', 'of-hello'),
  at('flytesnacks', 'development', 'train', 'of-train'),
  at('flytesnacks', 'development', '', 'of-development'),
  at('flytesnacks', 'production', '', 'of-production'),
  at('flytesnacks', '', '', 'of-flytesnacks'),
  at('other', '', '', 'of-other'),
];

/** The values of the levels that a page for this workflow shows, with the use of each. */
const usesIn = (workflow: string, kind = Kind.EXECUTION_CLUSTER_LABEL) =>
  levelsOf(kind, SET, { project: 'flytesnacks', domain: 'development', workflow }).map(({ value, use }) => [
    (value as { readonly value: string }).value,
    use,
  ]);

describe('the levels of attributes', () => {
  it('are those of the workflows, the domain and the project; the most specific one of the workflow applies', () => {
    expect(usesIn('hello')).toEqual([
      ['of-hello', 'applies'],
      ['of-train', 'of another workflow'],
      ['of-development', 'overridden'],
      ['of-flytesnacks', 'overridden'],
    ]);
  });

  it('of the domain apply when no workflow is chosen', () => {
    expect(usesIn('')).toEqual([
      ['of-hello', 'of another workflow'],
      ['of-train', 'of another workflow'],
      ['of-development', 'applies'],
      ['of-flytesnacks', 'overridden'],
    ]);
  });

  it('of workflows are not used for the assignment of clusters, which launches read for the domain', () => {
    expect(usesIn('hello', Kind.CLUSTER_ASSIGNMENT)).toEqual([
      ['of-hello', 'unused'],
      ['of-train', 'unused'],
      ['of-development', 'applies'],
      ['of-flytesnacks', 'overridden'],
    ]);
  });

  it('of the project are the fallback in the configuration of executions', () => {
    expect(usesIn('', Kind.WORKFLOW_EXECUTION_CONFIG).at(-1)).toEqual(['of-flytesnacks', 'fallback']);
  });
});
