import type { ReactNode } from 'react';

import { ServerFailure, ServerUnreachable } from '../server/failure.js';

const adviceFor = (error: unknown, isRepeated: boolean): string => {
  if (error instanceof ServerUnreachable)
    return isRepeated
      ? 'The page asks again until the server answers.'
      : 'The page does not send the request again. If it was to change something, see whether it has before you try again.';
  if (error instanceof RangeError) return 'Correct it and try again.';
  if (!(error instanceof ServerFailure)) return 'Load the page again. If the error stays, report it with this text.';
  if (error.status === 400) return 'Correct it and try again.';
  if (error.status === 401) return 'Sign in first.';
  if (error.status === 403) return 'Ask an operator for the permission.';
  if (error.status === 404) return 'Look at the name, and at the project and domain.';
  return 'The log of the server has more, by the id of the request.';
};

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
