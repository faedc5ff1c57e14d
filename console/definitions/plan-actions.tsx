import type { ReactNode } from 'react';

import { LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { Confirm } from '../look/confirm.js';
import { useAct } from '../server/act.js';
import type { Named } from '../server/ids.js';
import type { Version } from './versions.js';

type PlanActionsProps = { readonly id: Named; readonly version: Version };

const ACTIVATION =
  'It becomes the active version: the one that the name stands for, and whose schedule fires. Another version that is active now is no longer active then.';
const DEACTIVATION = 'No version is active then: a schedule of the launch plan stops firing until one is activated.';

/** Activates a version of a launch plan, or takes its activation back. */
export const PlanActions = ({ id, version: { version, isActive } }: PlanActionsProps): ReactNode => {
  const act = useAct(id);
  return (
    <Confirm
      subject={{ id: { ...id, version, resourceType: ResourceType.LAUNCH_PLAN }, isActive }}
      question={(plan) => {
        const action = plan.isActive ? 'Deactivate' : 'Activate';
        return {
          action,
          title: `${action} ${plan.id.name}, version ${plan.id.version}`,
          consequence: plan.isActive ? DEACTIVATION : ACTIVATION,
        };
      }}
      act={(plan) =>
        act(AdminService.method.updateLaunchPlan, {
          id: plan.id,
          state: plan.isActive ? LaunchPlanState.INACTIVE : LaunchPlanState.ACTIVE,
        })
      }
    />
  );
};
