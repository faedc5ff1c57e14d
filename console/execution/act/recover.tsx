import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { call } from '../../server/call.js';
import type { Named } from '../../server/ids.js';
import { Confirm } from '../../look/confirm.js';

type RecoverProps = { readonly id: Named };

export const Recover = ({ id }: RecoverProps): ReactNode => {
  const navigate = useNavigate();
  const recover = useMutation({
    mutationFn: () => call(AdminService.method.recoverExecution, { id }),
    onSuccess: (created) =>
      navigate({
        to: '/projects/$project/domains/$domain/executions/$name',
        params: { ...id, name: created.id?.name ?? '' },
      }),
  });
  return (
    <Confirm
      action="Recover"
      title={`Recover ${id.name}`}
      consequence="A new execution with the same inputs starts; it takes over the nodes that have succeeded, and runs the others again."
      isPending={recover.isPending}
      error={recover.error}
      act={() => recover.mutate()}
    />
  );
};
