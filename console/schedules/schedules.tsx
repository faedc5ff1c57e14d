import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import {
  ScheduleService,
  type ScheduleStatus,
  TickOutcome_Kind,
} from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Ago, ToCome } from '../look/moments.js';
import { Empty } from '../look/notes.js';
import { Card, Facts, Page } from '../look/page.js';
import { PhaseSign } from '../look/phase-badge.js';
import type { Tone } from '../look/phases.js';
import { msOf } from '../look/times.js';
import type { Named, Scope } from '../server/ids.js';
import { useLive } from '../server/live.js';
import { rpcQuery } from '../server/queries.js';
import { ScheduleActions } from './schedule-actions.js';
import { scheduleState, scheduleText } from './schedule-text.js';

const NEXT_SHOWN = 3;
const MAX_PLANS = 1_000;

const route = getRouteApi('/projects/$project/domains/$domain/schedules');

const TONES: Readonly<Record<TickOutcome_Kind, Tone>> = {
  [TickOutcome_Kind.KIND_UNSPECIFIED]: 'waiting',
  [TickOutcome_Kind.FIRED]: 'good',
  [TickOutcome_Kind.SKIPPED]: 'skipped',
  [TickOutcome_Kind.FAILED]: 'bad',
};

/** The expressions of schedules, by the names of their launch plans. */
type Expressions = ReadonlyMap<string, string>;

type OneProps = { readonly id: Named; readonly schedule: ScheduleStatus };

const Past = ({ id, schedule: { past } }: OneProps): ReactNode => (
  <ul className="logs card-body">
    {past.map((tick) => (
      <li key={String(msOf(tick.at))} title={tick.reason}>
        <PhaseSign tone={TONES[tick.kind]} />{' '}
        {tick.execution ? (
          <Link to="/projects/$project/domains/$domain/executions/$name" params={{ ...id, name: tick.execution.name }}>
            <Ago at={msOf(tick.at)} />
          </Link>
        ) : (
          <>
            <Ago at={msOf(tick.at)} /> {tick.reason}
          </>
        )}
      </li>
    ))}
  </ul>
);

const One = ({ expression, ...props }: OneProps & { readonly expression: string | undefined }): ReactNode => {
  const { id, schedule } = props;
  const title = (
    <Link to="/projects/$project/domains/$domain/launch_plans/$name" params={id}>
      {id.name}
    </Link>
  );
  return (
    <Card title={title} beside={<ScheduleActions {...props} />}>
      <Facts
        facts={[
          ['State', scheduleState(schedule)],
          ['Version', schedule.id?.version],
          ['Expression', expression],
          [
            'Next',
            schedule.next.length > 0 &&
              schedule.next.slice(0, NEXT_SHOWN).map((at) => (
                <div key={String(msOf(at))}>
                  <ToCome at={msOf(at) ?? 0} />
                </div>
              )),
          ],
          [
            'Will be skipped',
            schedule.skipping.length > 0 &&
              schedule.skipping.map((at) => (
                <div key={String(msOf(at))}>
                  <ToCome at={msOf(at) ?? 0} />
                </div>
              )),
          ],
          ['Fired', String(schedule.fired)],
          ['Skipped', String(schedule.skipped)],
          ['Failed', String(schedule.failed)],
          ['Late since', schedule.dueSince && <Ago at={msOf(schedule.dueSince)} />],
          ['Problem', schedule.problem],
        ]}
      />
      <Past {...props} />
    </Card>
  );
};

type ListProps = {
  readonly scope: Scope;
  readonly schedules: readonly ScheduleStatus[];
  readonly expressions: Expressions;
};

const List = ({ scope, schedules, expressions }: ListProps): ReactNode =>
  schedules.length === 0 ? (
    <Empty>No launch plan with a schedule was ever active here.</Empty>
  ) : (
    schedules.map((schedule) => {
      const { name = '' } = schedule.id ?? {};
      return <One key={name} id={{ ...scope, name }} schedule={schedule} expression={expressions.get(name)} />;
    })
  );

/** Reads the expressions of schedules from the active versions of launch plans, by the name of the launch plan. */
const useExpressions = (scope: Scope): Expressions => {
  const filters = 'eq(state,ACTIVE)+ne(schedule_type,NONE)';
  const { data } = useQuery(rpcQuery(AdminService.method.listLaunchPlans, { id: scope, filters, limit: MAX_PLANS }));
  return new Map(
    data?.launchPlans.map(({ id, spec }) => [id?.name ?? '', scheduleText(spec?.entityMetadata?.schedule)]),
  );
};

/** The first 100 schedules of a project and domain, each with its next ticks and the outcomes of past ones. */
export const Schedules = (): ReactNode => {
  const scope = route.useParams();
  const schedules = useQuery(rpcQuery(ScheduleService.method.listSchedules, scope));
  const expressions = useExpressions(scope);
  useLive(scope);
  return (
    <Page title="Schedules" above={`${scope.project} / ${scope.domain}`}>
      <QueryResult query={schedules}>
        {({ schedules: listed, token }) => (
          <>
            <List scope={scope} schedules={listed} expressions={expressions} />
            {token !== '' && (
              <p className="quiet">
                The first {listed.length} schedules are listed. The command <code>flightlog schedule list</code> has
                all.
              </p>
            )}
          </>
        )}
      </QueryResult>
    </Page>
  );
};
