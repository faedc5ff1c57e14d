import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { Confirm } from '../../look/confirm.js';
import { useAct } from '../../server/act.js';
import type { Named } from '../../server/ids.js';

type RecoverProps = { readonly id: Named };

export const Recover = ({ id }: RecoverProps): ReactNode => {
  const act = useAct();
  const navigate = useNavigate();
  const recover = async (): Promise<void> => {
    const created = await act(AdminService.method.recoverExecution, { id });
    const params = { ...id, name: created.id?.name ?? '' };
    await navigate({ to: '/projects/$project/domains/$domain/executions/$name', params });
  };
  return (
    <Confirm
      action="Recover"
      title={`Recover ${id.name}`}
      consequence="A new execution with the same inputs starts; it takes over the nodes that have succeeded, and runs the others again."
      act={recover}
    />
  );
};
