import './executions.css';

import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Empty } from '../look/notes.js';
import { Page } from '../look/page.js';
import { call } from '../server/call.js';
import { newestExecutions } from '../server/executions.js';
import type { Scope } from '../server/ids.js';
import { useLive } from '../server/live.js';
import { queriesOf } from '../server/queries.js';
import { Filters } from './filters.js';
import { Rows } from './rows.js';
import { Starts } from './starts.js';

const PAGE_ROWS = 100;

const route = getRouteApi('/projects/$project/domains/$domain/executions');

const usePages = (scope: Scope, filters: string) =>
  useInfiniteQuery({
    queryKey: [...queriesOf(AdminService.method.listExecutions), scope, filters],
    queryFn: ({ pageParam, signal }) =>
      call(
        AdminService.method.listExecutions,
        { ...newestExecutions(scope, PAGE_ROWS), filters, token: pageParam },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: ({ token }) => token || undefined,
  });

/** The executions of a project and domain, the newest first, by the filters of the address. */
export const Executions = (): ReactNode => {
  const scope = route.useParams();
  const { filters = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const setFilters = (next: string): void =>
    void navigate({ search: next === '' ? {} : { filters: next }, replace: true });
  const pages = usePages(scope, filters);
  useLive(scope);
  const launchPlans = (
    <Link className="button main" to="/projects/$project/domains/$domain/launch_plans" params={scope}>
      Launch …
    </Link>
  );
  return (
    <Page title="Executions" above={`${scope.project} / ${scope.domain}`} beside={launchPlans}>
      <Filters filters={filters} setFilters={setFilters} />
      <QueryResult query={pages}>
        {(answer) => {
          const executions = answer.pages.flatMap((page) => page.executions);
          if (executions.length === 0) return <Empty>No execution matches. Remove a filter, or launch one.</Empty>;
          return (
            <>
              <Starts executions={executions} filters={filters} setFilters={setFilters} />
              <Rows
                executions={executions}
                more={pages.hasNextPage && !pages.isFetchingNextPage ? () => void pages.fetchNextPage() : undefined}
              />
            </>
          );
        }}
      </QueryResult>
    </Page>
  );
};
