import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { Sort_Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import {
  type ExecutionCounts,
  ExecutionCountService,
} from '../../proto/gen/platformidl/eventlog/execution_count_service_pb.js';
import { ScheduleService } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Ago } from '../look/moments.js';
import { FailureNote } from '../look/notes.js';
import { useMinute } from '../look/now.js';
import { PhaseSign } from '../look/phase-badge.js';
import { msOf } from '../look/times.js';
import { newestExecutions } from '../server/executions.js';
import type { Scope } from '../server/ids.js';
import { rpcQuery } from '../server/queries.js';
import { COUNTED, type Counted, countFilters, countIn, FAILED, filtersOf } from './last-hours.js';
import { Pulse } from './pulse.js';

const SHOWN = 60;
const FAILED_SHOWN = 3;
const LAST_UPDATED = { key: 'updated_at', direction: Sort_Direction.DESCENDING } as const;

type DomainCardProps = { readonly scope: Scope; readonly hours: number };

/** The period that is counted begins `hours` before `now`, a whole minute in milliseconds since 1970; it has no end. */
type PeriodProps = DomainCardProps & { readonly now: number };

const useCounts = (scope: Scope, filters: string): UseQueryResult<ExecutionCounts> =>
  useQuery({
    ...rpcQuery(ExecutionCountService.method.count, { ...scope, filters }),
    placeholderData: keepPreviousData, // of the minute before
  });

const countText = (counts: ExecutionCounts | undefined, counted: Counted): string =>
  counts ? String(countIn(counts, counted)) : '–';

const Counts = ({ scope, hours, now }: PeriodProps): ReactNode => {
  const present = useCounts(scope, countFilters('now', hours, now));
  const ended = useCounts(scope, countFilters('ended', hours, now));
  const failure = present.error ?? ended.error;
  if (failure) return <FailureNote error={failure} />;
  const counts = { now: present.data, ended: ended.data };
  return (
    <ul className="counts">
      {COUNTED.map((counted) => (
        <li key={counted.text}>
          <Link
            to="/projects/$project/domains/$domain/executions"
            params={scope}
            search={{ filters: filtersOf(counted, hours, now) }}
          >
            <PhaseSign tone={counted.tone} />
            <strong>{countText(counts[counted.when], counted)}</strong> {counted.text}
            {counted.when === 'ended' && ` in ${hours} h`}
          </Link>
        </li>
      ))}
    </ul>
  );
};

/**
 * The number of schedules of a domain and of their ticks that are due, both of the first 100 schedules; nothing without
 * a schedule.
 */
const Due = ({ scope }: Pick<DomainCardProps, 'scope'>): ReactNode => {
  const { data } = useQuery(rpcQuery(ScheduleService.method.listSchedules, scope));
  if (!data || data.schedules.length === 0) return null;
  const due = data.schedules.reduce((sum, { open }) => sum + open, 0);
  const count = data.schedules.length;
  const least = data.token === '' ? '' : 'at least ';
  return (
    <Link to="/projects/$project/domains/$domain/schedules" params={scope} className="quiet">
      {least}
      {count} {count === 1 ? 'schedule' : 'schedules'}
      {due > 0 && `, ${due} due`}
    </Link>
  );
};

const Failed = ({ scope, hours, now }: PeriodProps): ReactNode => {
  const filters = filtersOf(FAILED, hours, now);
  const { data } = useQuery({
    ...rpcQuery(AdminService.method.listExecutions, { id: scope, limit: FAILED_SHOWN, filters, sortBy: LAST_UPDATED }),
    placeholderData: keepPreviousData,
  });
  return (
    <ul className="failed">
      {data?.executions.map(({ id, closure }) => (
        <li key={id?.name}>
          <Link to="/projects/$project/domains/$domain/executions/$name" params={{ ...scope, name: id?.name ?? '' }}>
            {id?.name}
          </Link>
          <span className="failed-why">
            {closure?.outputResult.case === 'error' ? closure.outputResult.value.message : ''}
          </span>
          <span className="quiet">
            <Ago at={msOf(closure?.updatedAt)} />
          </span>
        </li>
      ))}
    </ul>
  );
};

/**
 * A domain at a glance: its newest executions as bars, what runs and waits, and what has failed or succeeded in the
 * period.
 */
export const DomainCard = ({ scope, hours }: DomainCardProps): ReactNode => {
  const newest = useQuery(rpcQuery(AdminService.method.listExecutions, newestExecutions(scope, SHOWN)));
  const now = useMinute();
  return (
    <article className="card domain">
      <header className="card-head">
        <h3>
          <Link to="/projects/$project/domains/$domain/executions" params={scope}>
            {scope.domain}
          </Link>
        </h3>
        <span className="beside">
          <Due scope={scope} />
        </span>
      </header>
      <QueryResult query={newest}>
        {({ executions }) =>
          executions.length === 0 ? (
            <p className="empty">Nothing has run here, or all of it is archived.</p>
          ) : (
            <>
              <Pulse scope={scope} executions={executions} />
              <p className="quiet pulse-caption">The newest {executions.length}; a taller bar has run longer.</p>
              <Counts scope={scope} hours={hours} now={now} />
              <Failed scope={scope} hours={hours} now={now} />
            </>
          )
        }
      </QueryResult>
    </article>
  );
};
