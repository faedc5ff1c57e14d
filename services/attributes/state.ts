import { toBinary } from '@bufbuild/protobuf';

import {
  MatchableResource,
  type MatchingAttributes,
  MatchingAttributesSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { AttributesScope } from '../../proto/gen/platformidl/eventlog/attributes_pb.js';
import type { AttributesEvent } from './events.js';

/** The owner of attributes: a project, one of its domains, or a workflow in a domain. An empty part means all. */
export type AttributeScope = { readonly project: string; readonly domain: string; readonly workflow: string };

/** Attributes of one type at one scope. */
export type AttributeRow = {
  readonly scope: AttributeScope;
  readonly resourceType: MatchableResource;
  readonly attributes: MatchingAttributes;
  /** As {@link sizeOfRow}. */
  readonly bytes: number;
};

/** All attributes of one project, and the bytes of all rows. */
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

/** The resource type of attributes, from the field that is set. */
export const resourceTypeOf = ({ target }: MatchingAttributes): MatchableResource | undefined =>
  target.case === undefined ? undefined : TYPES[target.case];

/** The size of encoded attributes, in bytes. */
export const sizeOfAttributes = (attributes: MatchingAttributes): number =>
  toBinary(MatchingAttributesSchema, attributes).length;

/** The size of a row without its names and attributes. */
const ROW_BYTES = 64;

/** The size of a row, in bytes. A name that is not ASCII counts by its characters. */
export const sizeOfRow = ({ domain, workflow }: AttributeScope, attributes: MatchingAttributes): number =>
  ROW_BYTES + domain.length + workflow.length + sizeOfAttributes(attributes);

/** The length of the domain tells where it ends. A launch makes some 20 keys, so they are not made as JSON. */
const keyOf = (resourceType: MatchableResource, { domain, workflow }: Omit<AttributeScope, 'project'>): string =>
  `${resourceType} ${domain.length} ${domain}${workflow}`;

export const initialAttributes = (): AttributesState => ({ rows: new Map(), bytes: 0 });

const scopeOf = (scope: AttributesScope | undefined): AttributeScope => {
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
  const row: AttributeRow = { scope, resourceType, attributes, bytes: sizeOfRow(scope, attributes) };
  remove(state, keyOf(resourceType, scope));
  state.rows.set(keyOf(resourceType, scope), row);
  state.bytes += row.bytes;
  return state;
};

/** The attributes of exactly this scope. */
export const rowAt = (
  state: AttributesState,
  resourceType: MatchableResource,
  scope: AttributeScope,
): AttributeRow | undefined => state.rows.get(keyOf(resourceType, scope));

/** The attributes that apply at a scope: its own, else those of its domain, else those of its project. */
export const mostSpecificRow = (
  state: AttributesState,
  resourceType: MatchableResource,
  { project, domain, workflow }: AttributeScope,
): AttributeRow | undefined =>
  rowAt(state, resourceType, { project, domain, workflow }) ??
  rowAt(state, resourceType, { project, domain, workflow: '' }) ??
  rowAt(state, resourceType, { project, domain: '', workflow: '' });
