import { toJson } from '@bufbuild/protobuf';

import {
  type MatchableAttributesConfiguration,
  MatchableResource as Kind,
  MatchingAttributesSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { Scope } from '../server/ids.js';

/** The kinds of attributes, in words. */
export const KINDS: readonly (readonly [Kind, string])[] = [
  [Kind.TASK_RESOURCE, 'Resources of tasks'],
  [Kind.WORKFLOW_EXECUTION_CONFIG, 'Settings of executions'],
  [Kind.QUALITY_OF_SERVICE_SPECIFICATION, 'Quality of service'],
  [Kind.EXECUTION_CLUSTER_LABEL, 'Cluster label'],
  [Kind.CLUSTER_ASSIGNMENT, 'Cluster assignment'],
  [Kind.EXECUTION_QUEUE, 'Queues'],
  [Kind.PLUGIN_OVERRIDE, 'Plugins of task types'],
  [Kind.CLUSTER_RESOURCE, 'Resources of the cluster'],
];

/** A project, a domain and a workflow. The empty workflow stands for those that have no attributes of their own. */
export type AttributeScope = Scope & { readonly workflow: string };

/** Attributes that are set at one level. */
export type AttributeLevel = {
  readonly workflow: string;
  readonly domain: string;
  readonly value: unknown;
  /**
   * `fallback`: only for the fields that the level that applies leaves out. `unused`: of a workflow, but launches read
   * this kind for domains and projects alone.
   */
  readonly use: 'applies' | 'fallback' | 'overridden' | 'of another workflow' | 'unused';
};

type Configuration = MatchableAttributesConfiguration;

const isInScope =
  ({ project, domain }: AttributeScope) =>
  (level: Configuration): boolean =>
    level.project === project && (level.domain === '' || level.domain === domain);

const isOf =
  ({ workflow }: AttributeScope) =>
  (level: Configuration): boolean =>
    level.workflow === '' || level.workflow === workflow;

/** False for the cluster assignment of a workflow, which launches do not read. */
const isUsed =
  (kind: Kind) =>
  (level: Configuration): boolean =>
    kind !== Kind.CLUSTER_ASSIGNMENT || level.workflow === '';

const valueOf = ({ attributes }: Configuration): unknown => {
  const json = attributes && (toJson(MatchingAttributesSchema, attributes) as Readonly<Record<string, unknown>>);
  return Object.values(json ?? {})[0];
};

/**
 * The levels that have attributes of one kind, in the order of the server's list: the most specific first. The first
 * that is set for the workflow, its domain or its project applies. For settings of executions, those of the project
 * also apply to the fields that it leaves unset. The cluster assignment of a workflow is never used.
 */
export const levelsOf = (
  kind: Kind,
  configurations: readonly Configuration[],
  scope: AttributeScope,
): readonly AttributeLevel[] => {
  const levels = configurations.filter(isInScope(scope));
  const [applying] = levels.filter(isOf(scope)).filter(isUsed(kind));
  const useOf = (level: Configuration): AttributeLevel['use'] => {
    if (level === applying) return 'applies';
    if (!isUsed(kind)(level)) return 'unused';
    if (!isOf(scope)(level)) return 'of another workflow';
    return kind === Kind.WORKFLOW_EXECUTION_CONFIG && level.domain === '' ? 'fallback' : 'overridden';
  };
  return levels.map((level) => ({
    workflow: level.workflow,
    domain: level.domain,
    value: valueOf(level),
    use: useOf(level),
  }));
};
