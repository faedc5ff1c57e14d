import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { ScheduleService } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Ago } from '../look/moments.js';
import { PhaseSign } from '../look/phase-badge.js';
import { executionPhase, type PhaseKind, toneOf } from '../look/phases.js';
import { msOf } from '../look/times.js';
import { withCondition } from '../executions/filter-text.js';
import { newestExecutions } from '../server/executions.js';
import type { Scope } from '../server/ids.js';
import { rpcQuery } from '../server/queries.js';
import { Pulse } from './pulse.js';

const SHOWN = 60;
const FAILED_SHOWN = 3;

const COUNTED: readonly (readonly [PhaseKind, string, readonly string[]])[] = [
  ['running', 'running', ['RUNNING', 'SUCCEEDING']],
  ['waiting', 'waiting', ['QUEUED']],
  ['bad', 'failed', ['FAILED', 'TIMED_OUT', 'FAILING']],
  ['good', 'succeeded', ['SUCCEEDED']],
];

type DomainCardProps = { readonly scope: Scope };

type Shown = { readonly scope: Scope; readonly executions: readonly Execution[] };

const toneIn = ({ closure }: Execution): PhaseKind => toneOf(executionPhase(closure?.phase));

const Counts = ({ scope, executions }: Shown): ReactNode => (
  <ul className="counts">
    {COUNTED.map(([tone, text, phases]) => (
      <li key={tone}>
        <Link
          to="/projects/$project/domains/$domain/executions"
          params={scope}
          search={{ filters: withCondition('', { operator: 'value_in', field: 'phase', values: phases }) }}
        >
          <PhaseSign tone={tone} />
          <strong>{executions.filter((each) => toneIn(each) === tone).length}</strong> {text}
        </Link>
      </li>
    ))}
  </ul>
);

/** The schedules of a domain, and their ticks that are due; nothing where there is no schedule. */
const Due = ({ scope }: DomainCardProps): ReactNode => {
  const { data } = useQuery(rpcQuery(ScheduleService.method.listSchedules, scope));
  if (!data || data.schedules.length === 0) return null;
  const due = data.schedules.reduce((sum, { open }) => sum + open, 0);
  const count = data.schedules.length;
  return (
    <Link to="/projects/$project/domains/$domain/schedules" params={scope} className="quiet">
      {count} {count === 1 ? 'schedule' : 'schedules'}
      {due > 0 && `, ${due} due`}
    </Link>
  );
};

const Failed = ({ scope, executions }: Shown): ReactNode => (
  <ul className="failed">
    {executions
      .filter((each) => toneIn(each) === 'bad')
      .slice(0, FAILED_SHOWN)
      .map(({ id, closure }) => (
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

/** A domain at a glance: its newest executions as bars, their count by phase, and the last failures. */
export const DomainCard = ({ scope }: DomainCardProps): ReactNode => {
  const newest = useQuery(rpcQuery(AdminService.method.listExecutions, newestExecutions(scope, SHOWN)));
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
          <span className="quiet">the newest {SHOWN}</span>
        </span>
      </header>
      <QueryResult query={newest}>
        {({ executions }) =>
          executions.length === 0 ? (
            <p className="empty">Nothing has run here.</p>
          ) : (
            <>
              <Pulse scope={scope} executions={executions} />
              <Counts scope={scope} executions={executions} />
              <Failed scope={scope} executions={executions} />
            </>
          )
        }
      </QueryResult>
    </article>
  );
};
