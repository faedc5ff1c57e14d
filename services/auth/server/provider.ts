import type { EventEmitter } from 'node:events';
import { type Configuration, errors, interactionPolicy, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { AuthorizationState } from '../../kernel/ports/authorization-state.js';
import type { Users } from '../users/users.js';
import { cookieName } from '../browser/cookies.js';
import { adapters } from './adapter.js';
import { isSecret } from './clients.js';
import { type EndpointLimits, limitEndpoints } from './limited-endpoints.js';
import { INTERACTIONS } from './interactions.js';
import { completeDeviceAnswers, extendGrants, listScopes, removeUnusedNonce, signOutUpstream } from './middleware.js';
import { confirmDevicePage, deviceConnectedPage, type DeviceForm, userCodePage } from './pages/device.js';
import { htmlPage, pageHeaders, html } from './pages/page.js';
import { failurePage } from './pages/sign-in.js';
import { BROWSER_CLIENT, browserClient } from './browser-client.js';
import { pathPrefix, ROUTES } from './endpoints.js';
import { OPENID_SCOPES, SCOPES } from './scopes.js';
import { ALGORITHM, type SigningKeys } from './signing-keys.js';
import type { Upstream } from './upstream.js';

/** Lifetimes of tokens, in seconds. */
export type TokenLifetimes = { readonly accessSeconds: number; readonly refreshSeconds: number };

/** The settings and stores of the authorization server's OpenID provider. */
export type ProviderParts = EndpointLimits & {
  /** The address under which clients reach it, without a slash at its end. */
  readonly issuer: string;
  readonly state: AuthorizationState;
  readonly users: Users;
  /** The upstream provider that signs people in; `undefined` when there is none. */
  readonly upstream: Upstream | undefined;
  readonly keys: SigningKeys;
  readonly lifetimes: TokenLifetimes;
  /** True when a proxy in front terminates TLS, so that its headers say which scheme the client has used. */
  readonly isBehindProxy: boolean;
  readonly onError: (error: Error) => void;
};

const CODE_SECONDS = 60;
const SIGN_IN_SECONDS = 10 * 60;
const SESSION_SECONDS = 8 * 60 * 60;

const send = (context: KoaContextWithOIDC, body: string): void => {
  context.set({ ...pageHeaders() });
  context.body = body;
};

const deviceForm = ({ oidc }: KoaContextWithOIDC): DeviceForm => ({
  action: new URL(oidc.urlFor('code_verification')).pathname,
  xsrf: (oidc.session?.state as { readonly secret?: string } | undefined)?.secret ?? '',
});

const SEE_OTHER = 303;

/**
 * Shows the form for the code of a device. The library keeps the token of the form in the session, and stores no
 * session for a form that came without one: its browser is sent to a new form, because a form in the answer would not
 * be accepted.
 */
const showDeviceForm = (context: KoaContextWithOIDC, failure: string | undefined): void => {
  const { session } = context.oidc;
  if (failure === undefined || session?.exp !== undefined) {
    send(context, userCodePage(deviceForm(context), '', failure));
    return;
  }
  Object.assign(session ?? {}, { touched: false }); // otherwise the library fails because it has not stored the session
  context.status = SEE_OTHER;
  context.redirect(context.oidc.urlFor('code_verification'));
};

const deviceFlow: NonNullable<Configuration['features']>['deviceFlow'] = {
  enabled: true,
  // Nothing of the device is stored: its address would be personal data without a use.
  deviceInfo: () => ({}),
  userCodeInputSource: (context, _form, _out, failure) =>
    showDeviceForm(context, failure && 'The code is wrong, was used before, or has expired.'),
  // oxlint-disable-next-line max-params -- oidc-provider calls it so
  userCodeConfirmSource: (context, _form, client, _info, code) =>
    send(context, confirmDevicePage(deviceForm(context), client.clientName ?? client.clientId, code)),
  successSource: (context) => send(context, deviceConnectedPage()),
};

const logout: NonNullable<Configuration['features']>['rpInitiatedLogout'] = {
  enabled: true,
  logoutSource: (context, form) =>
    send(
      context,
      htmlPage(
        'Sign out?',
        html`${{ html: form }}<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>`,
      ),
    ),
  postLogoutSuccessSource: (context) => send(context, htmlPage('Signed out', html`<p>You can close this page.</p>`)),
};

const resourceIndicators = ({ issuer, lifetimes }: ProviderParts) => ({
  enabled: true,
  defaultResource: () => issuer,
  useGrantedResource: () => true,
  getResourceServerInfo: (_context: unknown, resource: string) => {
    if (resource.replace(/\/$/u, '') !== issuer) throw new errors.InvalidTarget();
    return {
      scope: SCOPES.join(' '),
      audience: issuer,
      accessTokenFormat: 'jwt' as const,
      accessTokenTTL: lifetimes.accessSeconds,
      jwt: { sign: { alg: ALGORITHM } as const },
    };
  },
});

/** A user of the users file, or a person that the upstream provider has signed in. */
type Person = {
  /** The name to show. */
  readonly username: string;
  readonly roles: readonly string[];
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly groups?: readonly string[];
};

const personOf = async ({ users, upstream }: ProviderParts, account: string): Promise<Person | undefined> => {
  const found = await users.find(account);
  if (found) return { ...found, username: account };
  const foreign = await upstream?.person(account);
  return foreign && { ...foreign, roles: [] };
};

const claimsOf = ({ username, roles, name, email, groups }: Person): Readonly<Record<string, unknown>> => ({
  roles,
  preferred_username: username,
  ...(name !== undefined && { name }),
  ...(email !== undefined && { email }),
  ...(groups !== undefined && { groups }),
});

/**
 * Claims of an access token beside the standard ones: roles, groups, and the names and e-mail address of the person.
 */
const extraClaims = (parts: ProviderParts): NonNullable<Configuration['extraTokenClaims']> => {
  return async (_context, token) => {
    if (token.kind === 'ClientCredentials')
      return { roles: (await parts.clients.find(token.clientId ?? ''))?.roles ?? [] };
    const { accountId } = token as unknown as { readonly accountId: string };
    return claimsOf((await personOf(parts, accountId)) ?? { username: accountId, roles: [] });
  };
};

/** The policy of the library, which also asks a person to sign in whose account is no longer known. */
const signInPolicy = (): ReturnType<typeof interactionPolicy.base> => {
  const policy = interactionPolicy.base();
  const { Check } = interactionPolicy;
  const isGone: ConstructorParameters<typeof Check>[2] = ({ oidc }) =>
    oidc.session?.accountId !== undefined && oidc.account === undefined
      ? Check.REQUEST_PROMPT
      : Check.NO_NEED_TO_PROMPT;
  policy.get('login')?.checks.add(new Check('account_gone', 'the account is not known any more', isGone));
  return policy;
};

const hasAny = (scopes: ReadonlySet<string>, names: readonly string[]): boolean =>
  names.some((name) => scopes.has(name));

const STAYS_SIGNED_IN = ['offline', 'offline_access'];

const ttl = ({ accessSeconds, refreshSeconds }: TokenLifetimes): NonNullable<Configuration['ttl']> => ({
  AccessToken: accessSeconds,
  ClientCredentials: accessSeconds,
  IdToken: accessSeconds,
  AuthorizationCode: CODE_SECONDS,
  DeviceCode: SIGN_IN_SECONDS,
  Interaction: SIGN_IN_SECONDS,
  Session: SESSION_SECONDS,
  Grant: refreshSeconds,
  RefreshToken: refreshSeconds,
});

type Session = KoaContextWithOIDC['oidc']['session'];

const browserGrant = async (provider: Provider, session: Session, issuer: string) => {
  const accountId = session?.accountId;
  if (accountId === undefined) return undefined;
  const grant = new provider.Grant({ clientId: BROWSER_CLIENT, accountId });
  grant.addOIDCScope('openid profile');
  grant.addResourceScope(issuer, 'all');
  await grant.save();
  return grant;
};

/**
 * The grant of a client for the person that is signed in. Flightlog's own client needs no consent: it gets a new grant
 * where it has none, also after the one before has expired or was revoked.
 */
const loadExistingGrant =
  ({ issuer }: ProviderParts): NonNullable<Configuration['loadExistingGrant']> =>
  async ({ oidc: { client, session, provider, result } }) => {
    const clientId = client?.clientId ?? '';
    const known = result?.consent?.grantId ?? session?.grantIdFor(clientId);
    const found = known === undefined ? undefined : await provider.Grant.find(known);
    if (found || clientId !== BROWSER_CLIENT) return found;
    return browserGrant(provider, session, issuer);
  };

/**
 * With TLS and without a path prefix, browsers take the cookie of the session from this host alone, so that no other
 * host of the domain can plant its own. The other two have a longer path, with which browsers do not promise that.
 */
const cookieNames = (issuer: string): NonNullable<Configuration['cookies']>['names'] => {
  const isSecure = issuer.startsWith('https:');
  const named = (name: string, path: string): string => cookieName(name, { isSecure, path });
  const prefix = pathPrefix(issuer);
  return {
    session: named('flightlog_issuer', prefix || '/'),
    interaction: named('flightlog_interaction', `${prefix}${INTERACTIONS}`),
    resume: named('flightlog_resume', `${prefix}${ROUTES.authorization}`),
  };
};

const configurationOf = (parts: ProviderParts): Configuration => {
  const { issuer, state, clients, keys, lifetimes } = parts;
  const prefix = pathPrefix(issuer);
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure: issuer.startsWith('https:') } as const;
  return {
    adapter: adapters(state, clients),
    clients: [browserClient(issuer)],
    loadExistingGrant: loadExistingGrant(parts),
    jwks: { keys: keys.private },
    cookies: {
      keys: [...keys.cookies],
      names: cookieNames(issuer),
      long: { ...cookie, path: prefix || '/' },
      short: cookie,
    },
    ttl: ttl(lifetimes),
    scopes: OPENID_SCOPES,
    claims: { profile: ['name', 'preferred_username'], email: ['email'] },
    routes: ROUTES,
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientDefaults: { id_token_signed_response_alg: ALGORITHM },
    pkce: { required: () => true },
    clientBasedCORS: () => false,
    issueRefreshToken: (_context, client, source) =>
      client.grantTypeAllowed('refresh_token') && hasAny(source.scopes, STAYS_SIGNED_IN),
    expiresWithSession: (_context, source) => !hasAny(source.scopes, STAYS_SIGNED_IN),
    rotateRefreshToken: true,
    interactions: { policy: signInPolicy(), url: (_context, { uid }) => `${prefix}${INTERACTIONS}${uid}` },
    findAccount: async (_context, name) => {
      const found = await personOf(parts, name);
      if (!found) return undefined;
      const { username, name: fullName, email } = found;
      return { accountId: name, claims: () => ({ sub: name, preferred_username: username, name: fullName, email }) };
    },
    extraTokenClaims: extraClaims(parts),
    renderError: (context, out) =>
      send(context, failurePage('Signing in has failed', out.error_description ?? out.error)),
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      clientCredentials: { enabled: true },
      revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
      userinfo: { enabled: true },
      resourceIndicators: resourceIndicators(parts),
      deviceFlow,
      rpInitiatedLogout: logout,
    },
  };
};

/** Makes the provider of `oidc-provider`. It holds nothing of its own, so that another can replace it at any time. */
export const makeProvider = (parts: ProviderParts): Provider => {
  const provider = new Provider(parts.issuer, configurationOf(parts));
  provider.proxy = parts.isBehindProxy;
  provider.use(limitEndpoints(parts));
  provider.use(listScopes);
  provider.use(removeUnusedNonce);
  provider.use(extendGrants(provider, parts.lifetimes.refreshSeconds));
  provider.use(completeDeviceAnswers((context, code) => send(context, userCodePage(deviceForm(context), code))));
  if (parts.upstream) provider.use(signOutUpstream(parts.upstream, send));
  provider.Client.prototype.compareClientSecret = function (this: { readonly clientSecret?: string }, secret: string) {
    return isSecret(secret, this.clientSecret ?? '');
  };
  provider.on('server_error', (_context, error) => parts.onError(error));
  (provider as EventEmitter).on('error', parts.onError); // without a listener, Koa writes to standard error
  return provider;
};
