import './executions.css';

import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { QueryResult } from '../look/query-result.js';
import { Empty, FailureNote } from '../look/notes.js';
import { Page } from '../look/page.js';
import { useLive } from '../server/live.js';
import { useMay } from '../server/permissions.js';
import type { ExecutionList } from './execution-list.js';
import { Creations } from './creations.js';
import { Filters } from './filters.js';
import { Rows } from './rows.js';
import { type FailedPage, useExecutionList } from './use-execution-list.js';

const route = getRouteApi('/projects/$project/domains/$domain/executions');

/** The note below a list whose next page could not be read, so that the list does not look whole. */
const Unread = ({ error, readAgain }: FailedPage): ReactNode => (
  <>
    <p>Older executions could not be read:</p>
    <FailureNote error={error} />
    <button type="button" className="button" onClick={readAgain}>
      Read older executions
    </button>
  </>
);

/** The executions of a project and domain, the newest first, by the filters of the address. */
export const Executions = (): ReactNode => {
  const scope = route.useParams();
  const { filters = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const setFilters = (next: string): void =>
    void navigate({ search: next === '' ? {} : { filters: next }, replace: true });
  const { query, failed, ...list } = useExecutionList(scope, filters);
  useLive(scope);
  const launchPlans = useMay('execute', scope) ? (
    <Link className="button main" to="/projects/$project/domains/$domain/launch_plans" params={scope}>
      Launch …
    </Link>
  ) : undefined;
  return (
    <Page title="Executions" above={`${scope.project} / ${scope.domain}`} beside={launchPlans}>
      <Filters filters={filters} setFilters={setFilters} />
      <QueryResult query={query}>
        {({ executions }: ExecutionList) =>
          executions.length === 0 ? (
            <Empty>No execution matches. Remove a filter, or launch one.</Empty>
          ) : (
            <>
              <Creations executions={executions} filters={filters} setFilters={setFilters} />
              <Rows executions={executions} {...list} />
              {failed && <Unread {...failed} />}
            </>
          )
        }
      </QueryResult>
    </Page>
  );
};
