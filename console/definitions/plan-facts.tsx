import type { ReactNode } from 'react';

import type { LaunchPlan } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { Literal, LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import { VersionLink } from '../execution/links.js';
import { ToCome } from '../look/moments.js';
import { Card, Facts } from '../look/page.js';
import { msOf } from '../look/times.js';
import { scheduleText } from '../schedules/schedule-text.js';
import { Literals } from '../values/literals.js';

type PlanProps = { readonly plan: LaunchPlan };

/** The workflow of a launch plan, its schedule and the next tick. */
export const PlanFacts = ({ plan: { spec, closure } }: PlanProps): ReactNode => {
  const next = msOf(closure?.nextFireAt);
  return (
    <Card>
      <Facts
        facts={[
          ['Workflow', spec?.workflowId && <VersionLink id={spec.workflowId} />],
          ['Schedule', scheduleText(spec?.entityMetadata?.schedule)],
          ['Next tick', next !== undefined && <ToCome at={next} />],
        ]}
      />
    </Card>
  );
};

type Values = LiteralMap['literals'];

const fixedIn = ({ spec }: LaunchPlan): Values => spec?.fixedInputs?.literals ?? {};

/** The values that inputs have when a launch gives no others; the default of an input that is fixed is never used. */
const defaultsOf = (plan: LaunchPlan): Values => {
  const fixed = fixedIn(plan);
  return Object.fromEntries(
    Object.entries(plan.closure?.expectedInputs?.parameters ?? {}).flatMap(
      ([name, { behavior }]): [string, Literal][] =>
        behavior.case === 'default' && !Object.hasOwn(fixed, name) ? [[name, behavior.value]] : [],
    ),
  );
};

/** The inputs that a launch plan fixes, and the defaults of the others; nothing where it has neither. */
export const PlanInputs = ({ plan }: PlanProps): ReactNode => {
  const values = [
    ['Fixed inputs', fixedIn(plan)],
    ['Default inputs', defaultsOf(plan)],
  ] as const;
  const given = values.filter(([, literals]) => Object.keys(literals).length > 0);
  if (given.length === 0) return null;
  return (
    <div className="two">
      {given.map(([title, literals]) => (
        <Card key={title} title={title}>
          <Literals values={{ literals }} none="" />
        </Card>
      ))}
    </div>
  );
};
