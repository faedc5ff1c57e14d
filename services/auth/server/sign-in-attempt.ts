/** An attempt of a person or a program to get a token, and its result. */
export type SignInAttempt = {
  /** The path of the endpoint, such as `/oauth2/token` or `/callback`, or `login` for the page. */
  readonly action: string;
  /** The user; empty where none is known: a name that no user has is left out, as people type passwords there. */
  readonly principal: string;
  /** Empty where none is known: before the client is verified, and when there is no such client. */
  readonly clientId: string;
  readonly address: string;
  /** RESOURCE_EXHAUSTED: held back by a limit. UNAVAILABLE: the issuer did not answer, or this server has failed. */
  readonly code: 'OK' | 'UNAUTHENTICATED' | 'RESOURCE_EXHAUSTED' | 'UNAVAILABLE';
};

/** Called with each attempt. */
export type OnAttempt = (attempt: SignInAttempt) => void;
