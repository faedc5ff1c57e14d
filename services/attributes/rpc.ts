import { create } from '@bufbuild/protobuf';

import type { MatchableResource, MatchingAttributes } from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import {
  ProjectAttributesDeleteResponseSchema,
  ProjectAttributesUpdateResponseSchema,
} from '../../proto/gen/platformidl/admin/project_attributes_pb.js';
import {
  ProjectDomainAttributesDeleteResponseSchema,
  ProjectDomainAttributesUpdateResponseSchema,
} from '../../proto/gen/platformidl/admin/project_domain_attributes_pb.js';
import {
  WorkflowAttributesDeleteResponseSchema,
  WorkflowAttributesUpdateResponseSchema,
} from '../../proto/gen/platformidl/admin/workflow_attributes_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { contextOf } from '../kernel/command-context.js';
import { type Call, invalid, missing, type Route, route, RpcError } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import type { AttributesCommand } from './commands.js';
import { attributesAggregate, type AttributesRefusal, MAX_PROJECT_BYTES, MAX_ROW_BYTES } from './decider.js';
import { attributesStream } from './events.js';
import { attributeReadRoutes, type AttributeReads } from './rpc-reads.js';
import { assertDomainScope, assertProjectScope, assertWorkflowScope, type ScopeServices } from './rpc-scopes.js';
import { assertAttributes, assertResourceType } from './rpc-targets.js';
import type { AttributeScope } from './state.js';

export type AttributeServices = AttributeReads & { readonly sessions: Sessions };

/** Checks that attributes may be written at a scope. */
type AssertScope = (services: ScopeServices, scope: AttributeScope) => Promise<void>;

const refusals: Readonly<Record<AttributesRefusal['kind'], (project: string) => RpcError>> = {
  // Of the attributes as they would be recorded: plugin overrides are added to the recorded ones.
  'attributes-too-large': () =>
    new RpcError('INVALID_ARGUMENT', `invalid value for matching_attributes: above ${MAX_ROW_BYTES} bytes`),
  'attributes-full': (project) =>
    new RpcError(
      'RESOURCE_EXHAUSTED',
      `the attributes of project [${project}] would be above ${MAX_PROJECT_BYTES} bytes: delete some first`,
    ),
};

const record = async ({ sessions }: AttributeServices, command: AttributesCommand, call: Call): Promise<void> => {
  const { project } = command.scope;
  const outcome = await sessions.handle(attributesAggregate, attributesStream(project), command, contextOf(call));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](project);
};

/** The common fields of the three update requests; absent parts of the scope count as empty. */
type Sent = Partial<Pick<AttributeScope, 'domain' | 'workflow'>> & {
  readonly project: string;
  readonly matchingAttributes?: MatchingAttributes | undefined;
};

const scopeOf = ({
  project,
  domain = '',
  workflow = '',
}: Partial<AttributeScope> & { readonly project: string }): AttributeScope => ({
  project,
  domain,
  workflow,
});

const update = async (
  services: AttributeServices,
  assertScope: AssertScope,
  sent: Sent | undefined,
  call: Call,
): Promise<void> => {
  if (sent === undefined) throw missing('attributes');
  const scope = scopeOf(sent);
  await assertScope(services, scope);
  if (scope.workflow.length > MAX_ROW_BYTES) throw invalid('workflow', `above ${MAX_ROW_BYTES} characters`);
  const { matchingAttributes: attributes } = sent;
  if (attributes === undefined) throw missing('matching_attributes');
  assertAttributes(attributes, scope);
  await record(services, { type: 'UpdateAttributes', scope, attributes }, call);
};

const remove = async (
  services: AttributeServices,
  assertScope: AssertScope,
  sent: Partial<AttributeScope> & { readonly project: string; readonly resourceType: MatchableResource },
  call: Call,
): Promise<void> => {
  const scope = scopeOf(sent);
  await assertScope(services, scope);
  assertResourceType(sent.resourceType);
  await record(services, { type: 'DeleteAttributes', scope, resourceType: sent.resourceType }, call);
};

const updateRoutes = (services: AttributeServices): readonly Route[] => [
  route(AdminService.method.updateProjectAttributes, async ({ attributes }, call) => {
    await update(services, assertProjectScope, attributes, call);
    return create(ProjectAttributesUpdateResponseSchema);
  }),
  route(AdminService.method.updateProjectDomainAttributes, async ({ attributes }, call) => {
    await update(services, assertDomainScope, attributes, call);
    return create(ProjectDomainAttributesUpdateResponseSchema);
  }),
  route(AdminService.method.updateWorkflowAttributes, async ({ attributes }, call) => {
    await update(services, assertWorkflowScope, attributes, call);
    return create(WorkflowAttributesUpdateResponseSchema);
  }),
];

const deleteRoutes = (services: AttributeServices): readonly Route[] => [
  route(AdminService.method.deleteProjectAttributes, async (request, call) => {
    await remove(services, assertProjectScope, request, call);
    return create(ProjectAttributesDeleteResponseSchema);
  }),
  route(AdminService.method.deleteProjectDomainAttributes, async (request, call) => {
    await remove(services, assertDomainScope, request, call);
    return create(ProjectDomainAttributesDeleteResponseSchema);
  }),
  route(AdminService.method.deleteWorkflowAttributes, async (request, call) => {
    await remove(services, assertWorkflowScope, request, call);
    return create(WorkflowAttributesDeleteResponseSchema);
  }),
];

export const attributeRoutes = (services: AttributeServices): readonly Route[] => [
  ...updateRoutes(services),
  ...deleteRoutes(services),
  ...attributeReadRoutes(services),
];
