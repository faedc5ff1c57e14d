import { toBinary } from '@bufbuild/protobuf';

import {
  MatchableResource,
  type MatchingAttributes,
  MatchingAttributesSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { AttributesScope } from '../../proto/gen/platformidl/eventlog/attributes_pb.js';
import type { AttributesEvent } from './events.js';

/** Whose attributes they are: a project's, a domain's of it, or a workflow's there. An empty part is every one. */
export type Scope = { readonly project: string; readonly domain: string; readonly workflow: string };

/** Attributes of one type at one scope. */
export type AttributeRow = {
  readonly scope: Scope;
  readonly resourceType: MatchableResource;
  readonly attributes: MatchingAttributes;
  /** Their encoding's length. */
  readonly bytes: number;
};

/** All attributes of one project. */
export type AttributesState = { readonly rows: Map<string, AttributeRow>; bytes: number };

type Target = NonNullable<MatchingAttributes['target']['case']>;

const TYPES: Readonly<Record<Target, MatchableResource>> = {
  taskResourceAttributes: MatchableResource.TASK_RESOURCE,
  clusterResourceAttributes: MatchableResource.CLUSTER_RESOURCE,
  executionQueueAttributes: MatchableResource.EXECUTION_QUEUE,
  executionClusterLabel: MatchableResource.EXECUTION_CLUSTER_LABEL,
  qualityOfService: MatchableResource.QUALITY_OF_SERVICE_SPECIFICATION,
  pluginOverrides: MatchableResource.PLUGIN_OVERRIDE,
  workflowExecutionConfig: MatchableResource.WORKFLOW_EXECUTION_CONFIG,
  clusterAssignment: MatchableResource.CLUSTER_ASSIGNMENT,
};

/** The type of resource that attributes are for: which of them are set says it. */
export const resourceTypeOf = ({ target }: MatchingAttributes): MatchableResource | undefined =>
  target.case === undefined ? undefined : TYPES[target.case];

/** How many bytes attributes take. */
export const sizeOfAttributes = (attributes: MatchingAttributes): number =>
  toBinary(MatchingAttributesSchema, attributes).length;

const keyOf = (resourceType: MatchableResource, { domain, workflow }: Omit<Scope, 'project'>): string =>
  JSON.stringify([resourceType, domain, workflow]);

export const initialAttributes = (): AttributesState => ({ rows: new Map(), bytes: 0 });

const scopeOf = (scope: AttributesScope | undefined): Scope => {
  const { project = '', domain = '', workflow = '' } = scope ?? {};
  return { project, domain, workflow };
};

const remove = (state: AttributesState, key: string): void => {
  state.bytes -= state.rows.get(key)?.bytes ?? 0;
  state.rows.delete(key);
};

export const evolveAttributes = (state: AttributesState, { type, data }: AttributesEvent): AttributesState => {
  const scope = scopeOf(data.scope);
  if (type === 'AttributesDeleted') {
    remove(state, keyOf(data.resourceType, scope));
    return state;
  }
  const { attributes } = data;
  const resourceType = attributes && resourceTypeOf(attributes);
  if (attributes === undefined || resourceType === undefined) return state;
  const row: AttributeRow = { scope, resourceType, attributes, bytes: sizeOfAttributes(attributes) };
  remove(state, keyOf(resourceType, scope));
  state.rows.set(keyOf(resourceType, scope), row);
  state.bytes += row.bytes;
  return state;
};

/** What exactly this scope has. */
export const rowAt = (
  state: AttributesState,
  resourceType: MatchableResource,
  scope: Scope,
): AttributeRow | undefined => state.rows.get(keyOf(resourceType, scope));

/** What holds at a scope: its own, else its domain's, else its project's. */
export const bestRow = (
  state: AttributesState,
  resourceType: MatchableResource,
  { project, domain, workflow }: Scope,
): AttributeRow | undefined =>
  rowAt(state, resourceType, { project, domain, workflow }) ??
  rowAt(state, resourceType, { project, domain, workflow: '' }) ??
  rowAt(state, resourceType, { project, domain: '', workflow: '' });
