import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { FailureNote } from '../look/notes.js';
import { call } from '../server/call.js';
import type { Named } from '../server/ids.js';
import type { Version } from './versions.js';

type PlanActionsProps = { readonly id: Named; readonly version: Version };

/** Activates a version of a launch plan, or takes its activation back. */
export const PlanActions = ({ id, version: { version, isActive } }: PlanActionsProps): ReactNode => {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () =>
      call(AdminService.method.updateLaunchPlan, {
        id: { ...id, version, resourceType: ResourceType.LAUNCH_PLAN },
        state: isActive ? LaunchPlanState.INACTIVE : LaunchPlanState.ACTIVE,
      }),
    onSuccess: () => client.invalidateQueries(),
  });
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={change.isPending}
        title={isActive ? 'Its schedule stops firing' : 'Its schedule fires; the version that was active before stops'}
        onClick={() => change.mutate()}
      >
        {isActive ? 'Deactivate' : 'Activate'}
      </button>
      {change.error && <FailureNote error={change.error} />}
    </>
  );
};
