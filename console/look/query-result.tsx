import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { FailureNote, Loading } from './notes.js';

type QueryResultProps<Answer> = {
  readonly query: Pick<UseQueryResult<Answer>, 'data' | 'error'>;
  readonly children: (answer: Answer) => ReactNode;
};

/** Renders the data of a query, or its failure, or that it is loading. */
export const QueryResult = <Answer,>({ query, children }: QueryResultProps<Answer>): ReactNode => {
  if (query.data !== undefined) return children(query.data);
  return query.error ? <FailureNote error={query.error} /> : <Loading />;
};
