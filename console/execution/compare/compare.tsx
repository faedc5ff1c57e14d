import './compare.css';

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode, SubmitEvent } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { queriesOf } from '../../server/queries.js';
import { textIn } from '../../look/forms.js';
import type { ExecutionAsOf } from '../moment.js';
import { Differences } from './differences.js';
import { readLastGood } from './last-good.js';

const route = getRouteApi('/projects/$project/domains/$domain/executions/$name');

/**
 * The name of the execution to compare with; an empty one stands for this execution. Until one is chosen, it is the one
 * that `readLastGood` finds, if any.
 */
const useOther = ({ id }: ExecutionAsOf): string => {
  const search = route.useSearch();
  const { data } = useQuery({
    queryKey: [...queriesOf(AdminService.method.listExecutions), 'last good', id],
    queryFn: ({ signal }) => readLastGood(id, signal),
    enabled: search.with === undefined,
  });
  return search.with ?? data ?? '';
};

/** The differences between this execution and another, or between two moments of it. */
export const Compare = (seen: ExecutionAsOf): ReactNode => {
  const { withAsOf = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const other = useOther(seen);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const textOf = (name: string): string | undefined => textIn(form, name) || undefined;
    void navigate({
      search: (search) => ({
        ...search,
        with: textIn(form, 'with'),
        withAsOf: textOf('withAsOf'),
        asOf: textOf('asOf'),
      }),
    });
  };
  return (
    <>
      <form key={`${other} ${withAsOf} ${seen.asOf}`} className="compare" onSubmit={submit}>
        <label>
          Compare with the execution
          <input name="with" className="field" defaultValue={other} placeholder={seen.id.name} />
        </label>
        <label>
          as of (position or time)
          <input name="withAsOf" className="field" defaultValue={withAsOf} placeholder="now" />
        </label>
        <label>
          this one as of
          <input name="asOf" className="field" defaultValue={seen.asOf} placeholder="now" />
        </label>
        <button type="submit" className="button main">
          Compare
        </button>
      </form>
      {(other !== '' || withAsOf !== seen.asOf) && (
        <Differences first={{ name: other || seen.id.name, asOf: withAsOf }} second={seen} />
      )}
    </>
  );
};
