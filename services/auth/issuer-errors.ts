const SERVER_ERROR = 500;
const TOO_MANY_REQUESTS = 429;
/** The messages of `fetch` where no answer came, and where the connection was cut off within one. */
const CUT_OFF: readonly string[] = ['fetch failed', 'terminated'];
/** The codes of an issuer that is away: that of the client library for a timeout, and that of fetching keys. */
const AWAY: ReadonlySet<unknown> = new Set(['OAUTH_TIMEOUT', 'UNAVAILABLE']);

/** An issuer that is asked too often refuses this request, and not the person. */
const isAwayStatus = (status: number): boolean => status >= SERVER_ERROR || status === TOO_MANY_REQUESTS;

/** True when an issuer could not be reached, was too slow or busy, or has failed; it has refused nothing then. */
export const isIssuerAway = (error: unknown): boolean => {
  if (!(error instanceof Error)) return error instanceof Response && isAwayStatus(error.status);
  if (error instanceof TypeError && CUT_OFF.includes(error.message)) return true;
  const { code, status = 0, cause } = error as Error & { readonly code?: unknown; readonly status?: number };
  return AWAY.has(code) || isAwayStatus(status) || (cause !== undefined && isIssuerAway(cause));
};

/** Codes are short words; a browser can bring any text in their place. */
const CODE = /^[\w.-]{1,64}$/u;

/** The code of an issuer's refusal, to be added to a message: ` (invalid_client)`. Empty when the error has no code. */
export const refusalCode = (error: unknown): string => {
  const code = error instanceof Error ? (error as Error & { readonly error?: unknown }).error : undefined;
  return typeof code === 'string' && CODE.test(code) ? ` (${code})` : '';
};
