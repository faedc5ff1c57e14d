import { type Execution } from '../proto/gen/platformidl/admin/execution_pb.js';
import { type Domain } from '../proto/gen/platformidl/admin/project_pb.js';
import { Sort_Direction } from '../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecution_Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { type InterfaceClient } from './client.js';

const { listProjects, getDomains, listExecutions } = AdminService.method;
const PAGE = 100;

/** Executions that nobody has begun, that are to be ended, and that somebody has begun and perhaps left. */
export const WAITING = [WorkflowExecution_Phase.QUEUED];
export const ENDING = [WorkflowExecution_Phase.ABORTING];
export const BEGUN = [
  WorkflowExecution_Phase.RUNNING,
  WorkflowExecution_Phase.SUCCEEDING,
  WorkflowExecution_Phase.FAILING,
];

type Scope = { readonly project: string; readonly domain: string };

/** Finds executions in some phases, the oldest of each project and domain first. */
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
 * Opens the search for work, which is all that the engine knows of how work reaches it. A search costs a call, and one
 * for each project and domain; domains are the same as long as the control plane runs.
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
