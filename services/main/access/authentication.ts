import { issuerDiscovery } from '../../auth/metadata/discovery.js';
import { externalMetadata } from '../../auth/metadata/external.js';
import { NO_SIGN_IN, type SignInMetadataSource } from '../../auth/metadata/rpc.js';
import { certificateCallers, CERTIFICATE_ISSUER } from '../../auth/certificates.js';
import { bearerAuthentication } from '../../auth/authentication.js';
import { accessBy, type ClaimGrant, grantsByBindings, grantsByClaims } from '../../auth/permissions/grants.js';
import { passwordAuthentication } from '../../auth/passwords.js';
import { signInLimits } from '../../auth/server/sign-in-limits.js';
import type { Access } from '../../kernel/access.js';
import { knownPrincipals } from './authorization-server.js';
import { ANY, type Grant, ACCESS_ROLES } from '../../auth/permissions/roles.js';
import { serverMetadata } from '../../auth/server/endpoints.js';
import { fetchJson } from '../../auth/tokens/issuer-metadata.js';
import type { RemoteIssuer } from '../../auth/tokens/issuer.js';
import { tokenVerifier } from '../../auth/tokens/verifier.js';
import type { Configuration } from '../../config/configuration.js';
import type {
  Authentication,
  Identity,
  LocalIssuer,
  PasswordAuthentication,
} from '../../kernel/ports/authentication.js';
import type { RoleBindings } from '../../reference/role-bindings.js';

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
 * Grants the roles that the claim `roles` names, in every project and domain. It is only for issuers whose claims the
 * operator of this process decides: its own authorization server, and client certificates.
 */
const rolesEverywhere = (issuer: string): readonly ClaimGrant[] =>
  ACCESS_ROLES.map((role) => ({ issuer, claim: 'roles', value: role, role, projects: [ANY], domains: [ANY] }));

type ReadsBindings = Pick<RoleBindings, 'readerOf'>;

/**
 * Returns a function that gives the present grants of a caller: first those by its claims, then those of role bindings,
 * which may change between two calls. The bindings are read only when a check takes more grants than the claims give, so
 * that a call which the claims allow does not need them.
 */
const grantsOf = (
  identity: Identity,
  byClaims: readonly Grant[],
  bindings: ReadsBindings | undefined,
): (() => Iterable<Grant>) => {
  const read = bindings?.readerOf(identity.principal);
  if (!read) return () => byClaims;
  let known: { readonly bindings: ReturnType<typeof read>; readonly grants: readonly Grant[] } | undefined;
  return function* () {
    yield* byClaims;
    const current = read();
    if (current !== known?.bindings) known = { bindings: current, grants: grantsByBindings(identity, current) };
    yield* known.grants;
  };
};

/** Returns a function that gives the access of a caller, by its claims and by role bindings, within its scopes. */
const accessFor =
  (auth: Auth, local: LocalIssuer | undefined, bindings: ReadsBindings | undefined) =>
  (identity: Identity): Access => {
    const byClaims = grantsByClaims(identity, [
      ...auth.grants,
      ...rolesEverywhere(CERTIFICATE_ISSUER),
      ...(local ? rolesEverywhere(local.issuer) : []),
    ]);
    return accessBy(identity.scopes, grantsOf(identity, byClaims, bindings));
  };

/**
 * Opens the authentication of a process, by client certificates and by tokens of the configured issuers and of the one
 * in this process; `undefined` with `insecure`, which switches it off.
 *
 * @param local the authorization server of this process, if it has one.
 * @param bindings absent in a process without the role `api`: there only claims give roles.
 */
export const openAuthentication = (
  { insecure, auth }: Pick<Configuration, 'insecure' | 'auth'>,
  local: LocalIssuer | undefined,
  bindings?: ReadsBindings,
): Authentication | undefined => {
  if (insecure) return undefined;
  const accessOf = accessFor(auth, local, bindings);
  return bearerAuthentication({
    verifier: tokenVerifier(issuersOf(auth), local ? [local] : [], { fetchJson, now: Date.now }),
    metadataKey: auth.metadata_key,
    cachedTokens: auth.cached_tokens,
    accessOf,
    callerOfCertificate: certificateCallers({ rules: auth.certificates, accessOf, now: Date.now }),
    now: Date.now,
  });
};

/**
 * Opens the authentication by the passwords and secrets of the authorization server in this process; `undefined`
 * without such a server.
 */
export const openPasswords = (
  settings: Pick<Configuration, 'data' | 'auth'>,
  local: LocalIssuer | undefined,
  bindings?: ReadsBindings,
): PasswordAuthentication | undefined =>
  local &&
  passwordAuthentication({
    ...knownPrincipals(settings),
    limits: signInLimits(settings.auth.server.failures_per_minute),
    issuer: () => local.issuer,
    accessOf: accessFor(settings.auth, local, bindings),
    cached: settings.auth.cached_tokens,
  });

/**
 * The answers of AuthMetadataService, from which clients learn where to get a token: from the authorization server of
 * this process, or else from the first issuer. {@link NO_SIGN_IN} when there is neither, and with `insecure`.
 */
export const signInMetadata = (
  { insecure, auth }: Pick<Configuration, 'insecure' | 'auth'>,
  local: LocalIssuer | undefined,
): SignInMetadataSource => {
  const [external] = auth.issuers;
  if (insecure || (!local && !external)) return NO_SIGN_IN;
  const { client_id, redirect_uri, scopes, audience } = auth.public_client;
  return {
    server: local
      ? () => Promise.resolve(serverMetadata(local.issuer))
      : externalMetadata(external?.issuer ?? '', fetchJson),
    client: () => ({
      clientId: client_id,
      redirectUri: redirect_uri,
      scopes,
      audience,
      authorizationMetadataKey: auth.metadata_key,
    }),
  };
};

/** Redirects to the metadata of the first issuer; `undefined` where {@link signInMetadata} does not answer for it. */
export const issuerRedirect = (
  { insecure, auth }: Pick<Configuration, 'insecure' | 'auth'>,
  local: LocalIssuer | undefined,
): ReturnType<typeof issuerDiscovery> | undefined => {
  const [external] = auth.issuers;
  return insecure || local || !external ? undefined : issuerDiscovery(external.issuer);
};
