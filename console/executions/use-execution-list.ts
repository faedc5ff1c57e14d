import { useMutation, useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { type RefObject, useCallback, useRef } from 'react';

import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { call } from '../server/call.js';
import { newestExecutions } from '../server/executions.js';
import type { Scope } from '../server/ids.js';
import { queriesOf, RETRIED } from '../server/queries.js';
import { type CreatedRange, type ExecutionList, filtersWithin, withPage, withRange } from './execution-list.js';

/** The first page is small, to be shown soon. The others are large, and read before people scroll to their rows. */
const FIRST_ROWS = 100;
const PAGE_ROWS = 500;
/** Maximum number of pages that are read of a range; when it has more, `more` reads on after them. */
const MAX_PAGES = 10;

type ListRequest = { readonly scope: Scope; readonly filters: string; readonly signal?: AbortSignal };

const readPage = ({ scope, filters, signal }: ListRequest, token = ''): Promise<ExecutionList> =>
  call(
    AdminService.method.listExecutions,
    { ...newestExecutions(scope, token === '' ? FIRST_ROWS : PAGE_ROWS), filters, token },
    signal,
  );

/** Reads the executions of a range; the token is not empty when it has more than `MAX_PAGES` pages. */
const readRange = async (request: ListRequest, range: CreatedRange): Promise<ExecutionList> => {
  const within = { ...request, filters: filtersWithin(request.filters, range) };
  const executions: Execution[] = [];
  let token = '';
  for (let page = 0; page < MAX_PAGES && (page === 0 || token !== ''); page += 1) {
    const read = await readPage(within, token);
    executions.push(...read.executions);
    ({ token } = read);
  }
  return { executions, token };
};

/** A page that could not be read. */
export type FailedPage = { readonly error: unknown; readonly readAgain: () => void };

/** A list of executions that grows at its end, and whose rows in view are kept current. */
export type ListOfExecutions = {
  readonly query: UseQueryResult<ExecutionList>;
  /** Reads the next page; `undefined` while one is read, after it could not be read, and at the end. */
  readonly more: (() => void) | undefined;
  /** The failure to read the next page, and a function that reads it again; `undefined` without a failure. */
  readonly failed: FailedPage | undefined;
  /** The range of the rendered rows, to be set by the table. */
  readonly inView: RefObject<CreatedRange>;
  /** Reads the rows in view again. */
  readonly readAgain: () => void;
};

/**
 * The executions of a project and domain that match the filters. Events make only the rows in view read again: to read
 * a list of ten thousand rows again with every event would keep the page and the server busy.
 */
export const useExecutionList = (scope: Scope, filters: string): ListOfExecutions => {
  const client = useQueryClient();
  const queryKey = [...queriesOf(AdminService.method.listExecutions), 'list', scope, filters];
  const update = (next: (list: ExecutionList) => ExecutionList): void =>
    void client.setQueryData<ExecutionList>(queryKey, (list) => list && next(list));
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => readPage({ scope, filters, signal }),
    staleTime: Infinity,
    enabled: ({ state }) => state.data === undefined, // events make it read again only as long as it could not be read
  });
  const isEmpty = query.data?.executions.length === 0;
  const inView = useRef<CreatedRange>({});
  const { refetch } = useQuery({
    queryKey: [...queryKey, 'in view'],
    queryFn: async ({ signal }) => {
      const range = isEmpty ? {} : inView.current;
      const read = await readRange({ scope, filters, signal }, range);
      update((list) => withRange(list, range, read));
      return range;
    },
    enabled: query.data !== undefined,
  });
  const next = useMutation({
    mutationFn: (token: string) => readPage({ scope, filters }, token),
    onSuccess: (page, token) => update((list) => withPage(list, token, page)),
    ...RETRIED,
  });
  const token = query.data?.token ?? '';
  const readNext = (): void => next.mutate(token);
  const failed = next.isError && next.variables === token ? { error: next.error, readAgain: readNext } : undefined;
  return {
    query,
    more: token === '' || next.isPending || failed ? undefined : readNext,
    failed,
    inView,
    readAgain: useCallback(() => void refetch(), [refetch]),
  };
};
