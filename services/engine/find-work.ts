import { type Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { Sort_Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
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

const scopes = async (client: InterfaceClient): Promise<readonly Scope[]> => {
  const [{ projects }, { domains }] = await Promise.all([client.call(listProjects, {}), client.call(getDomains, {})]);
  return projects.flatMap((project) => domains.map((domain) => ({ project: project.id, domain: domain.id })));
};

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
 * Finds executions in some phases, the oldest of each project and domain first. This is all that the engine knows of
 * how work reaches it.
 */
export async function* findWork(
  client: InterfaceClient,
  phases: readonly WorkflowExecution_Phase[],
): AsyncGenerator<Execution> {
  const names = phases.map((phase) => WorkflowExecution_Phase[phase]).join(';');
  for (const scope of await scopes(client)) yield* inScope(client, scope, `value_in(phase,${names})`);
}
