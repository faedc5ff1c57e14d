import type { Identity } from '../../kernel/ports/authentication.js';

/** The introspection endpoint of an issuer (RFC 7662), and the client by which this process calls it. */
export type Introspection = {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The time for which an answer is cached, in milliseconds. */
  readonly cacheMs: number;
};

/** An issuer of tokens outside this process, and what its tokens must contain. */
export type RemoteIssuer = {
  readonly issuer: string;
  readonly audience: readonly string[];
  /** The URL of its public keys (JWKS); by default the one that its metadata names. */
  readonly jwksUrl?: string | undefined;
  readonly algorithms: readonly string[];
  /** The greatest difference between the clocks of the issuer and of this process, in milliseconds. */
  readonly clockSkewMs: number;
  /** The endpoint that verifies its opaque tokens, which are not JWTs; without one, they are refused. */
  readonly introspection?: Introspection | undefined;
};

/** A verified token. `until` is the time, in milliseconds since 1970, up to which it need not be verified again. */
export type Verified = { readonly identity: Identity; readonly until: number };
