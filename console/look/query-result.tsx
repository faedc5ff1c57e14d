import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { FailureNote, Loading } from './notes.js';
import { Page } from './page.js';

type QueryResultProps<Answer> = {
  readonly query: Pick<UseQueryResult<Answer>, 'data' | 'error'>;
  /** The title of the page, where the children are a whole page. */
  readonly title?: string;
  readonly children: (answer: Answer) => ReactNode;
};

/** Renders the data of a query, also when a later read has failed; without data its failure, or that it is loading. */
export const QueryResult = <Answer,>({ query, title, children }: QueryResultProps<Answer>): ReactNode => {
  if (query.data !== undefined) return children(query.data);
  const state = query.error ? <FailureNote error={query.error} /> : <Loading />;
  return title === undefined ? state : <Page title={title}>{state}</Page>;
};
