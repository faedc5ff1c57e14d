import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { call } from '../../server/call.js';
import type { Named } from '../../server/ids.js';
import { Confirm } from '../../look/confirm.js';

type TerminateProps = { readonly id: Named };

export const Terminate = ({ id }: TerminateProps): ReactNode => {
  const client = useQueryClient();
  const [cause, setCause] = useState('');
  const terminate = useMutation({
    mutationFn: () => call(AdminService.method.terminateExecution, { id, cause }),
    onSuccess: () => client.invalidateQueries(),
  });
  return (
    <Confirm
      action="Terminate"
      title={`Terminate ${id.name}`}
      consequence="Its engine ends all running nodes. This cannot be undone; a terminated execution can be recovered or relaunched."
      isDanger
      isPending={terminate.isPending}
      error={terminate.error}
      act={() => terminate.mutate()}
    >
      <label htmlFor="cause">Cause, which is recorded</label>
      <input id="cause" className="field" value={cause} onChange={(event) => setCause(event.target.value)} />
    </Confirm>
  );
};
