import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { FailureNote, Loading } from './notes.js';

type AskedProps<Answer> = {
  readonly query: Pick<UseQueryResult<Answer>, 'data' | 'error'>;
  readonly children: (answer: Answer) => ReactNode;
};

/** Shows an answer when it is there, and what is wrong when it is not. */
export const Asked = <Answer,>({ query, children }: AskedProps<Answer>): ReactNode => {
  if (query.data !== undefined) return children(query.data);
  return query.error ? <FailureNote error={query.error} /> : <Loading />;
};
