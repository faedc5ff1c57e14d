import type { Execution } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { call } from '../../server/call.js';
import { newestExecutions } from '../../server/executions.js';
import type { Named } from '../../server/ids.js';

/** Reads the name of the newest other execution of the same workflow that has succeeded; null when there is none. */
export const readLastGood = async (id: Named, signal: AbortSignal): Promise<string | null> => {
  const { closure } = await call(AdminService.method.getExecution, { id }, signal);
  const { project, domain } = id;
  const workflow = closure?.workflowId?.name ?? '';
  const { executions } = await call(
    AdminService.method.listExecutions,
    { ...newestExecutions({ project, domain }, 2), filters: `eq(phase,SUCCEEDED)+eq(workflow.name,${workflow})` },
    signal,
  );
  return executions.map(nameOf).find((name) => name !== id.name) ?? null;
};

const nameOf = ({ id }: Execution): string => id?.name ?? '';
