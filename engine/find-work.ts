import { type Execution } from '../proto/gen/platformidl/admin/execution_pb.js';
import { type Domain } from '../proto/gen/platformidl/admin/project_pb.js';
import { Sort_Direction } from '../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecution_Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { type InterfaceClient } from './client.js';

const { listProjects, getDomains, listExecutions } = AdminService.method;
const PAGE = 100;

/** Phases of executions that no engine has started yet. */
export const WAITING = [WorkflowExecution_Phase.QUEUED];
/** Phases of executions that are to be aborted. */
export const ENDING = [WorkflowExecution_Phase.ABORTING];
/** Phases of executions that an engine has started and may have abandoned. */
export const STARTED = [
  WorkflowExecution_Phase.RUNNING,
  WorkflowExecution_Phase.SUCCEEDING,
  WorkflowExecution_Phase.FAILING,
];

type Scope = { readonly project: string; readonly domain: string };

/**
 * Finds executions in some phases, the oldest of each project and domain first. Archived executions, and those of
 * archived projects, are not found.
 */
export type FindWork = (phases: readonly WorkflowExecution_Phase[]) => AsyncGenerator<Execution>;

async function* inScope(client: InterfaceClient, scope: Scope, filters: string): AsyncGenerator<Execution> {
  let token = '';
  do {
    const page = await client.call(listExecutions, {
      id: { ...scope, name: '' },
      limit: PAGE,
      token,
      filters,
      sortBy: { key: 'created_at', direction: Sort_Direction.ASCENDING },
    });
    yield* page.executions;
    token = page.token;
  } while (token);
}

/**
 * Makes the search for work of an engine that polls. A search costs one call, and at least one for each project and
 * domain. The domains are read only once: they are a setting of the control plane, and an engine is restarted after a
 * change of it.
 */
export const createFindWork = (client: InterfaceClient): FindWork => {
  let domains: readonly Domain[] | undefined;

  const scopes = async (): Promise<readonly Scope[]> => {
    const [{ projects }, known] = await Promise.all([
      client.call(listProjects, {}),
      domains ?? client.call(getDomains, {}).then((found) => found.domains),
    ]);
    domains = known;
    return projects.flatMap((project) => known.map((domain) => ({ project: project.id, domain: domain.id })));
  };

  return async function* (phases) {
    const names = phases.map((phase) => WorkflowExecution_Phase[phase]).join(';');
    for (const scope of await scopes()) yield* inScope(client, scope, `value_in(phase,${names})`);
  };
};
