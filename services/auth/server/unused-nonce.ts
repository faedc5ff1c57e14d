import type { KoaContextWithOIDC } from 'oidc-provider';
import { ROUTES } from './endpoints.js';

const wantsIdToken = ({ query: { scope } }: KoaContextWithOIDC): boolean =>
  [scope].flat().join(' ').split(' ').includes('openid');

/**
 * Middleware of Koa that removes the `nonce` from a request for a code without the scope `openid`.
 *
 * A nonce is for an ID token, and without that scope none is issued. The library refuses such a request, but the clients
 * in Go (`flytectl`) send a nonce with each.
 */
export const removeUnusedNonce = async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
  const { nonce, ...others } = context.query;
  if (context.path === ROUTES.authorization && nonce !== undefined && !wantsIdToken(context)) context.query = others;
  await next();
};
