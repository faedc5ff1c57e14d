import { create } from '@bufbuild/protobuf';

import {
  type ListMatchableAttributesResponse,
  ListMatchableAttributesResponseSchema,
  MatchableResource,
  type MatchingAttributes,
  MatchingAttributesSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { ProjectAttributesGetResponseSchema } from '../../proto/gen/platformidl/admin/project_attributes_pb.js';
import { ProjectDomainAttributesGetResponseSchema } from '../../proto/gen/platformidl/admin/project_domain_attributes_pb.js';
import { WorkflowAttributesGetResponseSchema } from '../../proto/gen/platformidl/admin/workflow_attributes_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { Access } from '../kernel/access.js';
import { accessOf } from '../kernel/permitted.js';
import { type Call, type Route, route, RpcError } from '../kernel/rpc.js';
import type { RecordedAttributes, WithPlatform } from './ports.js';
import { assertDomainScope, assertProject, assertWorkflowScope, type ScopeServices } from './rpc-scopes.js';
import { assertResourceType } from './rpc-targets.js';
import { type AttributeRow, mostSpecificRow, rowAt, type AttributeScope } from './state.js';

export type AttributeReads = ScopeServices & {
  readonly recorded: RecordedAttributes;
  readonly withPlatform: WithPlatform;
};

const absent = ({ project, domain, workflow }: AttributeScope, resourceType: MatchableResource): RpcError => {
  const key = `Project:${project} Domain:${domain} Workflow:${workflow} LaunchPlan: ResourceType:${MatchableResource[resourceType]}`;
  return new RpcError('NOT_FOUND', `Resource [{${key}}] not found`);
};

/**
 * Finds the attributes that apply at a scope; they may be those of the domain or the project.
 *
 * @throws {RpcError} NOT_FOUND when there are none; INVALID_ARGUMENT when the number is not a resource type.
 */
const found = async (
  { recorded }: AttributeReads,
  scope: AttributeScope,
  resourceType: MatchableResource,
  call: Call,
): Promise<AttributeRow> => {
  assertResourceType(resourceType);
  const row = mostSpecificRow(await recorded.ofProject(call, scope.project), resourceType, scope);
  if (row === undefined) throw absent(scope, resourceType);
  return row;
};

/** The execution configuration of a row, completed with the platform's defaults; without a row, only the defaults. */
const executionConfig = (reads: AttributeReads, row: AttributeRow | undefined): MatchingAttributes => {
  const target = row?.attributes.target;
  const stored = target?.case === 'workflowExecutionConfig' ? target.value : undefined;
  return create(MatchingAttributesSchema, {
    target: { case: 'workflowExecutionConfig', value: reads.withPlatform(stored) },
  });
};

const projectAttributes = async (
  reads: AttributeReads,
  { project, resourceType }: { readonly project: string; readonly resourceType: MatchableResource },
  call: Call,
): Promise<MatchingAttributes> => {
  const scope: AttributeScope = { project, domain: '', workflow: '' };
  await assertProject(reads, scope);
  assertResourceType(resourceType);
  const row = rowAt(await reads.recorded.ofProject(call, project), resourceType, scope);
  if (resourceType === MatchableResource.WORKFLOW_EXECUTION_CONFIG) return executionConfig(reads, row);
  if (row === undefined) throw absent(scope, resourceType);
  return row.attributes;
};

/** The rank of a row, the most specific highest: 2 for a workflow, 1 for a domain, 0 for a project. */
const specificity = ({ scope: { domain, workflow } }: AttributeRow): number => {
  if (workflow !== '') return 2;
  return domain === '' ? 0 : 1;
};

const keyOf = ({ scope: { project, domain, workflow } }: AttributeRow): string =>
  [project, domain, workflow].join('\u0000');

/** Sorts the most specific first, and those of one level by key. */
const inOrder = (a: AttributeRow, b: AttributeRow): number =>
  specificity(b) - specificity(a) || (keyOf(a) < keyOf(b) ? -1 : 1);

/**
 * Permission to read one domain of a project is enough for the attributes of the whole project, as in
 * GetProjectAttributes.
 */
const isReadable = ({ scope: { project, domain } }: AttributeRow, access: Access): boolean =>
  domain === '' ? access.mayInSome('read', project) : access.may('read', project, domain);

const list = async (
  { recorded }: AttributeReads,
  resourceType: MatchableResource,
  call: Call,
): Promise<ListMatchableAttributesResponse> => {
  assertResourceType(resourceType);
  const rows = (await recorded.ofAll(call)).flatMap((state) => [...state.rows.values()]);
  const configurations = rows
    .filter((row) => row.resourceType === resourceType && isReadable(row, accessOf(call)))
    .sort(inOrder)
    .map(({ scope, attributes }) => ({ ...scope, attributes }));
  return create(ListMatchableAttributesResponseSchema, { configurations });
};

export const attributeReadRoutes = (reads: AttributeReads): readonly Route[] => [
  route(AdminService.method.getProjectAttributes, async (request, call) => {
    const matchingAttributes = await projectAttributes(reads, request, call);
    return create(ProjectAttributesGetResponseSchema, { attributes: { project: request.project, matchingAttributes } });
  }),
  route(AdminService.method.getProjectDomainAttributes, async ({ project, domain, resourceType }, call) => {
    const requested: AttributeScope = { project, domain, workflow: '' };
    await assertDomainScope(reads, requested);
    const { scope, attributes: matchingAttributes } = await found(reads, requested, resourceType, call);
    return create(ProjectDomainAttributesGetResponseSchema, {
      attributes: { project: scope.project, domain: scope.domain, matchingAttributes },
    });
  }),
  route(AdminService.method.getWorkflowAttributes, async ({ project, domain, workflow, resourceType }, call) => {
    const requested: AttributeScope = { project, domain, workflow };
    await assertWorkflowScope(reads, requested);
    const { scope, attributes: matchingAttributes } = await found(reads, requested, resourceType, call);
    return create(WorkflowAttributesGetResponseSchema, { attributes: { ...scope, matchingAttributes } });
  }),
  route(AdminService.method.listMatchableAttributes, ({ resourceType }, call) => list(reads, resourceType, call)),
];
