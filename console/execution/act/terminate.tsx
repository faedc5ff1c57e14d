import { type ReactNode, useState } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { Confirm } from '../../look/confirm.js';
import { useAct } from '../../server/act.js';
import type { Named } from '../../server/ids.js';

type TerminateProps = { readonly id: Named };

export const Terminate = ({ id }: TerminateProps): ReactNode => {
  const act = useAct(id);
  const [cause, setCause] = useState('');
  return (
    <Confirm
      subject={id}
      question={({ name }) => ({
        action: 'Terminate',
        title: `Terminate ${name}`,
        consequence:
          'Its engine ends all running nodes. This cannot be undone; a terminated execution can be recovered or relaunched.',
        isDanger: true,
      })}
      act={(execution) => act(AdminService.method.terminateExecution, { id: execution, cause })}
    >
      <label htmlFor="cause">Cause, which is recorded</label>
      <input id="cause" className="field" value={cause} onChange={(event) => setCause(event.target.value)} />
    </Confirm>
  );
};
