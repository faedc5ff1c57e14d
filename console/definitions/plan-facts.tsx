import type { ReactNode } from 'react';

import type { LaunchPlan } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { VersionLink } from '../execution/links.js';
import { ToCome } from '../look/moments.js';
import { Card, Facts } from '../look/page.js';
import { msOf } from '../look/times.js';
import { scheduleText } from '../schedules/schedule-text.js';

/** The workflow of a launch plan, its schedule and the next tick. */
export const PlanFacts = ({ plan: { spec, closure } }: { readonly plan: LaunchPlan }): ReactNode => {
  const next = msOf(closure?.nextFireAt);
  return (
    <Card>
      <Facts
        facts={[
          ['Workflow', spec?.workflowId && <VersionLink id={spec.workflowId} />],
          ['Schedule', scheduleText(spec?.entityMetadata?.schedule)],
          ['Next tick', next !== undefined && <ToCome at={next} />],
          ['Fixed inputs', Object.keys(spec?.fixedInputs?.literals ?? {}).join(', ')],
        ]}
      />
    </Card>
  );
};
