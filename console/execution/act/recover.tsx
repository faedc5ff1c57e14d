import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { Confirm } from '../../look/confirm.js';
import { useAct } from '../../server/act.js';
import type { Named } from '../../server/ids.js';

type RecoverProps = { readonly id: Named };

export const Recover = ({ id }: RecoverProps): ReactNode => {
  const act = useAct(id);
  const navigate = useNavigate();
  const recover = async (execution: Named): Promise<void> => {
    const created = await act(AdminService.method.recoverExecution, { id: execution });
    const params = { ...execution, name: created.id?.name ?? '' };
    await navigate({ to: '/projects/$project/domains/$domain/executions/$name', params });
  };
  return (
    <Confirm
      subject={id}
      question={({ name }) => ({
        action: 'Recover',
        title: `Recover ${name}`,
        consequence:
          'A new execution with the same inputs starts; it takes over the nodes that have succeeded, and runs the others again.',
      })}
      act={recover}
    />
  );
};
