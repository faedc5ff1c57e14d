import type { KoaContextWithOIDC } from 'oidc-provider';
import { ROUTES } from './endpoints.js';
import { signOutTherePage } from './pages/sign-in.js';
import type { Upstream } from './upstream.js';

const CONFIRMED = `${ROUTES.end_session}/confirm`;
const [OK, SEE_OTHER] = [200, 303];

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
    const there = hasSignedOut(context) ? await upstream.signOut(context.oidc.session?.accountId) : undefined;
    if (!there) return;
    context.remove('location');
    context.status = OK;
    context.set('refresh', `0; url=${there.href}`);
    send(context, signOutTherePage(upstream.name, there));
  };
