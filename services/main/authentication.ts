import { bearerAuthentication } from '../auth/authentication.js';
import { accessBy, grantsByClaims } from '../auth/permissions/grants.js';
import { fetchJson } from '../auth/tokens/issuer-metadata.js';
import type { RemoteIssuer } from '../auth/tokens/issuer.js';
import { tokenVerifier } from '../auth/tokens/verifier.js';
import type { Configuration } from '../config/configuration.js';
import type { Authentication, LocalIssuer } from '../kernel/ports/authentication.js';

type Auth = Configuration['auth'];

const introspectionOf = ({ introspection }: Auth['issuers'][number]): RemoteIssuer['introspection'] =>
  introspection && {
    url: introspection.url,
    clientId: introspection.client_id,
    clientSecret: introspection.client_secret,
    cacheMs: introspection.cache,
  };

const issuersOf = ({ issuers }: Auth): readonly RemoteIssuer[] =>
  issuers.map((each) => ({
    issuer: each.issuer,
    audience: each.audience,
    jwksUrl: each.jwks_url,
    algorithms: each.algorithms,
    clockSkewMs: each.clock_skew,
    introspection: introspectionOf(each),
  }));

/**
 * Opens the authentication of a process, for tokens of the configured issuers and of those in this process; `undefined`
 * with `insecure`, which switches it off.
 */
export const openAuthentication = (
  { insecure, auth }: Pick<Configuration, 'insecure' | 'auth'>,
  local: readonly LocalIssuer[] = [],
): Authentication | undefined => {
  if (insecure) return undefined;
  return bearerAuthentication({
    verifier: tokenVerifier(issuersOf(auth), local, { fetchJson, now: Date.now }),
    metadataKey: auth.metadata_key,
    cachedTokens: auth.cached_tokens,
    accessOf: (identity) => {
      const grants = grantsByClaims(identity, auth.grants);
      return accessBy(identity.scopes, () => grants);
    },
    now: Date.now,
  });
};
