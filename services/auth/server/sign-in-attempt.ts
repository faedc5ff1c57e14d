/** An attempt of a person or a program to get a token, and its result. */
export type SignInAttempt = {
  /** The path of the endpoint, such as `/oauth2/token`, or `login` for the page. */
  readonly action: string;
  /** The user; empty when there is no such user, because people type passwords where names belong. */
  readonly principal: string;
  /** Empty when there is no such client. */
  readonly clientId: string;
  readonly address: string;
  /** RESOURCE_EXHAUSTED: held back after too many failures. UNAVAILABLE: the issuer did not answer. */
  readonly code: 'OK' | 'UNAUTHENTICATED' | 'RESOURCE_EXHAUSTED' | 'UNAVAILABLE';
};

/** Called with each attempt. */
export type OnAttempt = (attempt: SignInAttempt) => void;
