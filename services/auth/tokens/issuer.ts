import type { Identity } from '../../kernel/ports/authentication.js';

/** The introspection endpoint of an issuer (RFC 7662), and our client there. */
export type Introspection = {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The time for which an answer is cached, in milliseconds. */
  readonly cacheMs: number;
};

/** An issuer of another process, and what its tokens must have. */
export type RemoteIssuer = {
  readonly issuer: string;
  readonly audience: readonly string[];
  /** The URL of its keys; by default that of its metadata. */
  readonly jwksUrl?: string | undefined;
  readonly algorithms: readonly string[];
  /** The greatest difference between the clocks of the issuer and of this process, in milliseconds. */
  readonly clockSkewMs: number;
  /** The verification of its opaque tokens; without it, they are refused. */
  readonly introspection?: Introspection | undefined;
};

/** A verified token. `until` is the time, in milliseconds since 1970, up to which it need not be verified again. */
export type Verified = { readonly identity: Identity; readonly until: number };
