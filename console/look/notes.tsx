import type { ReactNode } from 'react';

import { ServerFailure } from '../server/failure.js';
import { adviceFor } from './advice.js';

type FailureProps = {
  readonly error: unknown;
  /** True where the page repeats the failed request by itself, which it does for no action. */
  readonly isRepeated?: boolean;
};

/** A failure in words: the answer of the server, what to do, and the id of the request. */
export const FailureNote = ({ error, isRepeated = false }: FailureProps): ReactNode => (
  <div className="note tone-bad" role="alert">
    <strong>{error instanceof Error ? error.message : String(error)}</strong>
    <p>{adviceFor(error, isRepeated)}</p>
    {error instanceof ServerFailure && error.requestId !== '' && <code>request {error.requestId}</code>}
  </div>
);

type EmptyProps = { readonly children: ReactNode };

export const Empty = ({ children }: EmptyProps): ReactNode => <div className="empty">{children}</div>;

export const Loading = (): ReactNode => (
  <div className="loading" role="status">
    <span className="visually-hidden">Loading</span>
  </div>
);
