import type { Execution } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { call } from '../../server/call.js';
import { newestExecutions } from '../../server/executions.js';
import type { Named } from '../../server/ids.js';
import { conditionToFind, withCondition } from '../../executions/filter-text.js';

/** Maximum number of executions that are searched where those of workflows with similar names are among them. */
const MAX_SIMILAR = 100;

/**
 * Reads the name of the newest other execution of the same workflow that has succeeded and is not archived; null when
 * there is none, or none among the newest 100 of workflows with similar names.
 */
export const readLastGood = async (id: Named, signal: AbortSignal): Promise<string | null> => {
  const { closure } = await call(AdminService.method.getExecution, { id }, signal);
  const { project, domain } = id;
  const workflow = closure?.workflowId?.name ?? '';
  const ofWorkflow = conditionToFind('workflow.name', workflow);
  const newest = newestExecutions({ project, domain }, ofWorkflow.operator === 'eq' ? 2 : MAX_SIMILAR);
  const filters = withCondition('eq(phase,SUCCEEDED)', ofWorkflow);
  const { executions } = await call(AdminService.method.listExecutions, { ...newest, filters }, signal);
  const isOther = (each: Execution): boolean =>
    each.closure?.workflowId?.name === workflow && each.id?.name !== id.name;
  return executions.find(isOther)?.id?.name ?? null;
};
