import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import { ROUTES } from './endpoints.js';
import { signOutUpstreamPage } from './pages/sign-in.js';
import { OPENID_SCOPES, SCOPES } from './scopes.js';
import type { Upstream } from './upstream.js';

const [OK, SEE_OTHER] = [200, 303];

const wantsIdToken = ({ query: { scope } }: KoaContextWithOIDC): boolean =>
  [scope].flat().join(' ').split(' ').includes('openid');

/**
 * Middleware of Koa that removes the `nonce` from a request for a code without the scope `openid`.
 *
 * A nonce is for an ID token, and without that scope none is issued. The library refuses such a request, but the
 * clients in Go (`flytectl`) send a nonce with each.
 */
export const removeUnusedNonce = async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
  const { nonce, ...others } = context.query;
  if (context.path === ROUTES.authorization && nonce !== undefined && !wantsIdToken(context)) context.query = others;
  await next();
};

/** Middleware of Koa that lists every scope in the metadata; the library lists only those of OpenID Connect. */
export const listScopes = async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
  await next();
  if (context.path.startsWith('/.well-known/') && context.status === OK)
    context.body = { ...(context.body as object), scopes_supported: [...SCOPES, ...OPENID_SCOPES] };
};

/** The seconds between two polls of a device: the default of RFC 8628, which some clients want spelled out. */
const POLL_SECONDS = 5;

/** The user code in the address of the page, which a device prints or shows as a QR code. */
const codeIn = ({ method, path, query }: KoaContextWithOIDC): string | undefined =>
  method === 'GET' && path === ROUTES.code_verification ? [query['user_code']].flat()[0] : undefined;

const isDeviceAnswer = ({ method, path, status }: KoaContextWithOIDC): boolean =>
  method === 'POST' && path === ROUTES.device_authorization && status === 200;

/**
 * Middleware of Koa that completes answers of the device flow. It adds the polling interval to a new device code. Where
 * the address has a user code, it shows the form filled in with it; the page of the library would send itself by a
 * script.
 */
export const completeDeviceAnswers =
  (showCode: (context: KoaContextWithOIDC, code: string) => void) =>
  async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
    await next();
    const code = codeIn(context);
    if (code !== undefined && context.status === 200) showCode(context, code);
    if (isDeviceAnswer(context)) context.body = { ...(context.body as object), interval: POLL_SECONDS };
  };

/**
 * Middleware of Koa that extends the grant of a refresh token that was used: the new refresh token may be used as long
 * after that. The grant is read again, because a second use of the token may have removed it.
 */
export const extendGrants =
  (provider: Provider, seconds: number) =>
  async (context: Partial<KoaContextWithOIDC>, next: () => Promise<unknown>): Promise<void> => {
    await next();
    const used = context.oidc?.entities.RotatedRefreshToken;
    const grant = used?.grantId === undefined ? undefined : await provider.Grant.find(used.grantId);
    if (grant === undefined) return;
    grant.exp = Math.floor(Date.now() / 1_000) + seconds;
    await grant.save();
  };

const CONFIRMED = `${ROUTES.end_session}/confirm`;

const hasSignedOut = ({ method, path, status, oidc }: KoaContextWithOIDC): boolean =>
  method === 'POST' && path === CONFIRMED && status === SEE_OTHER && oidc.params?.['logout'] !== undefined;

/**
 * Koa middleware for a person of the upstream provider that has signed out here: sends a page that refreshes to the
 * sign-out there. It sends no redirect, because browsers check every redirect after a form against the origins that the
 * form's page names, and a provider may redirect to origins that are not known here.
 */
export const signOutUpstream =
  (upstream: Upstream, send: (context: KoaContextWithOIDC, page: string) => void) =>
  async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
    await next();
    const upstreamAddress = hasSignedOut(context) ? await upstream.signOut(context.oidc.session?.accountId) : undefined;
    if (!upstreamAddress) return;
    context.remove('location');
    context.status = OK;
    context.set('refresh', `0; url=${upstreamAddress.href}`);
    send(context, signOutUpstreamPage(upstream.name, upstreamAddress));
  };
