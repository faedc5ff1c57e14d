import type { Identity } from '../../kernel/ports/authentication.js';

/** The introspection endpoint of an issuer (RFC 7662), and our client there. */
export type Introspection = {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How long an answer counts, in milliseconds. */
  readonly cacheMs: number;
};

/** An issuer of another process, and what its tokens must have. */
export type RemoteIssuer = {
  readonly issuer: string;
  readonly audience: readonly string[];
  /** Where its keys are; by default its metadata say that. */
  readonly jwksUrl?: string | undefined;
  readonly algorithms: readonly string[];
  /** How far the clocks of the issuer and of this process may be apart, in milliseconds. */
  readonly clockSkewMs: number;
  /** How its opaque tokens are verified; without it, they are refused. */
  readonly introspection?: Introspection | undefined;
};

/** A verified token. `until` is the time, in milliseconds since 1970, up to which it need not be verified again. */
export type Verified = { readonly identity: Identity; readonly until: number };
