import { decodeJwt, errors, jwtVerify } from 'jose';
import type { LocalIssuer } from '../../kernel/ports/authentication.js';
import { identityOf } from './claims.js';
import { introspecting } from './introspection.js';
import type { RemoteIssuer, Verified } from './issuer.js';
import type { FetchJson } from './issuer-metadata.js';
import { type FindKey, remoteKeys } from './key-set.js';
import { refusalOf, unauthenticated } from './refusal.js';

/** Verifies tokens of the configured issuers. */
export interface TokenVerifier {
  /** True when the token looks like one of a configured issuer; it may still be refused. */
  isOurs(token: string): boolean;
  /**
   * @throws {RpcError} UNAUTHENTICATED with the reason when the token is not valid; UNAVAILABLE when its issuer must be
   * asked and cannot be reached.
   * @throws {StoreUnavailable} when the keys of the authorization server of this process must be read and cannot be.
   */
  verify(token: string): Promise<Verified>;
}

type Trusted = RemoteIssuer & { readonly find: FindKey };

/** A verified JWT is verified again after this time, in milliseconds, so that withdrawn keys stop counting. */
const TRUST_MS = 600_000;
const LOCAL_SKEW_MS = 5_000;
const MS = 1_000;

const isJwt = (token: string): boolean => token.split('.').length === 3;

/** The claims of a token, which are not verified; `undefined` when it cannot be read. */
const unverified = (token: string): { readonly iss?: string | undefined } | undefined => {
  try {
    return decodeJwt(token);
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
};

const trustedLocal = (local: LocalIssuer): Trusted => ({
  issuer: local.issuer,
  audience: local.audience,
  algorithms: local.algorithms.filter((algorithm) => !/^(?:HS|none)/u.test(algorithm)),
  clockSkewMs: LOCAL_SKEW_MS,
  find: async ({ kid = '' }) => {
    const key = await local.keyOf(kid);
    if (key?.type !== 'public') throw new errors.JWKSNoMatchingKey();
    return key;
  },
});

const verifyJwt = async (token: string, issuer: Trusted, now: number): Promise<Verified> => {
  const { payload } = await jwtVerify(token, issuer.find, {
    issuer: issuer.issuer,
    audience: [...issuer.audience],
    algorithms: [...issuer.algorithms],
    clockTolerance: issuer.clockSkewMs / MS,
    currentDate: new Date(now),
    requiredClaims: ['exp'],
  });
  const identity = identityOf(payload, issuer.issuer);
  return { identity, until: Math.min((identity.expiresAt ?? now) + issuer.clockSkewMs, now + TRUST_MS) };
};

/** Makes the verifier of tokens of other processes and of this one. */
export const tokenVerifier = (
  issuers: readonly RemoteIssuer[],
  local: readonly LocalIssuer[],
  { fetchJson, now }: { readonly fetchJson: FetchJson; readonly now: () => number },
): TokenVerifier => {
  const remote = issuers.map((issuer) => ({ ...issuer, find: remoteKeys(issuer, { fetchJson, now }) }));
  const knowsOpaque = issuers.some(({ introspection }) => introspection !== undefined);
  const introspect = introspecting(issuers, { fetchJson, now });
  const trustedOf = (token: string): Trusted | undefined => {
    const claimed = unverified(token)?.iss;
    const localIssuer = local.find(({ issuer }) => issuer === claimed);
    return localIssuer ? trustedLocal(localIssuer) : remote.find(({ issuer }) => issuer === claimed);
  };
  return {
    isOurs: (token) => (isJwt(token) ? trustedOf(token) !== undefined : knowsOpaque),
    verify: async (token) => {
      if (!isJwt(token) && !knowsOpaque)
        throw unauthenticated('the token is no JWT, and no issuer that verifies other tokens is configured');
      if (!isJwt(token)) return introspect(token);
      const issuer = trustedOf(token);
      if (!issuer)
        throw unauthenticated(
          unverified(token) ? 'the issuer of the token is not configured' : 'the token is malformed',
        );
      return verifyJwt(token, issuer, now()).catch((error: unknown) => {
        throw refusalOf(error);
      });
    },
  };
};
