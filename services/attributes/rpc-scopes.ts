import { missing, RpcError } from '../kernel/rpc.js';
import type { Projects } from './ports.js';
import type { AttributeScope } from './state.js';

export type ScopeServices = { readonly projects: Projects };

const unknownProject = (project: string): RpcError =>
  new RpcError(
    'INVALID_ARGUMENT',
    `failed to validate that project [${project}] is registered, err: [project [${project}] not found]`,
  );

/** @throws {RpcError} INVALID_ARGUMENT when there is no such project; an inactive one is accepted. */
export const assertProject = async ({ projects }: ScopeServices, { project }: AttributeScope): Promise<void> => {
  if (project === '') throw missing('project');
  if ((await projects.lifecycle(project)) === 'unknown-project') throw unknownProject(project);
};

/** @throws {RpcError} INVALID_ARGUMENT when there is no such project, or it is not active. */
export const assertProjectScope = async (services: ScopeServices, scope: AttributeScope): Promise<void> => {
  await assertProject(services, scope);
  if ((await services.projects.lifecycle(scope.project)) === 'inactive')
    throw new RpcError('INVALID_ARGUMENT', `project [${scope.project}] is not active`);
};

/** @throws {RpcError} INVALID_ARGUMENT when there is no such project or domain, or the project is not active. */
export const assertDomainScope = async (
  { projects }: ScopeServices,
  { project, domain }: AttributeScope,
): Promise<void> => {
  if (project === '') throw missing('project');
  if (domain === '') throw missing('domain');
  const refusal = await projects.check(project, domain);
  if (refusal !== undefined) throw refusal;
};

/**
 * @throws {RpcError} INVALID_ARGUMENT as {@link assertDomainScope}, or when no workflow is named. The workflow need not
 *   be registered.
 */
export const assertWorkflowScope = async (services: ScopeServices, scope: AttributeScope): Promise<void> => {
  await assertDomainScope(services, scope);
  if (scope.workflow === '') throw missing('name');
};
