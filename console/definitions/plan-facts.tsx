import type { ReactNode } from 'react';

import type { LaunchPlan } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { FixedRateUnit, type Schedule } from '../../proto/gen/platformidl/admin/schedule_pb.js';
import { VersionLink } from '../execution/links.js';
import { ToCome } from '../look/moments.js';
import { Card, Facts } from '../look/page.js';
import { msOf } from '../look/times.js';

/** The schedule as it was registered, such as `15 5 * * *` or `every 10 minutes`. */
const scheduleText = (schedule: Schedule | undefined): string => {
  const expression = schedule?.ScheduleExpression;
  switch (expression?.case) {
    case 'cronSchedule':
      return expression.value.schedule;
    case 'cronExpression':
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- clients in the field still send it
      return expression.value;
    case 'rate':
      return `every ${expression.value.value} ${FixedRateUnit[expression.value.unit].toLowerCase()}${expression.value.value === 1 ? '' : 's'}`;
    default:
      return '';
  }
};

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
