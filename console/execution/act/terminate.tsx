import type { ReactNode } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { Confirm } from '../../look/confirm.js';
import { useAct } from '../../server/act.js';
import type { Named } from '../../server/ids.js';

type TerminateProps = { readonly id: Named };

type CauseProps = { readonly value: string | undefined; readonly change: (cause: string) => void };

const Cause = ({ value = '', change }: CauseProps): ReactNode => (
  <>
    <label htmlFor="cause">Cause, which is recorded</label>
    <input id="cause" className="field" value={value} onChange={(event) => change(event.target.value)} />
  </>
);

export const Terminate = ({ id }: TerminateProps): ReactNode => {
  const act = useAct(id);
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
      Fields={Cause}
      act={(execution, cause = '') => act(AdminService.method.terminateExecution, { id: execution, cause })}
    />
  );
};
