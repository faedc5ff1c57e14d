import type { ReactNode } from 'react';

import { type Execution, ExecutionState } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { Archive } from '../../look/archive.js';
import { useAct } from '../../server/act.js';
import type { Named } from '../../server/ids.js';

const { EXECUTION_ACTIVE: ACTIVE, EXECUTION_ARCHIVED: ARCHIVED } = ExecutionState;

type ArchiveExecutionProps = { readonly id: Named; readonly execution: Execution };

/** Archives an execution, or takes that back; only for executions that have ended. */
export const ArchiveExecution = ({ id, execution: { closure } }: ArchiveExecutionProps): ReactNode => {
  const act = useAct(id);
  return (
    <Archive
      name={id.name}
      isArchived={closure?.stateChangeDetails?.state === ARCHIVED}
      change={(isArchived) => act(AdminService.method.updateExecution, { id, state: isArchived ? ARCHIVED : ACTIVE })}
    />
  );
};
