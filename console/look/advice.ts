import { ServerFailure, ServerUnreachable } from '../server/failure.js';

/** The advice for the HTTP statuses where it is always the same. */
const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'Correct it and try again.',
  401: 'Sign in first.',
  403: 'Ask an operator for the permission.',
  404: 'Look at the name, and at the project and domain.',
  429: 'Try again later.',
  501: 'Use a client that speaks gRPC.',
  503: 'Try again later.',
};

/**
 * The advice for a person about a failure, in one or more sentences.
 *
 * @param isRepeated true where the page repeats the failed request by itself.
 */
export const adviceFor = (error: unknown, isRepeated: boolean): string => {
  if (error instanceof ServerUnreachable)
    return isRepeated
      ? 'The page asks again until the server answers.'
      : 'The page does not send the request again. If it was to change something, see whether it has before you try again.';
  if (error instanceof RangeError) return 'Correct it and try again.';
  if (!(error instanceof ServerFailure)) return 'Load the page again. If the error stays, report it with this text.';
  const inLog = error.requestId === '' ? '' : ', by the id of the request';
  return BY_STATUS[error.status] ?? `The log of the server has more${inLog}.`;
};
