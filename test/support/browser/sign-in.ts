import { createHash, randomBytes } from 'node:crypto';

import { openBrowser, type Page } from './browser.js';

/** A user name and its password. */
export type Credentials = { readonly name: string; readonly password: string };

/** A code that an authorization server has sent back, with the PKCE verifier and the redirect address to redeem it. */
export type SentCode = { readonly code: string; readonly verifier: string; readonly redirect: string };

/** An answer of an endpoint of OAuth 2.0. */
export type OAuthAnswer = { readonly status: number; readonly body: Readonly<Record<string, string | undefined>> };

/** Posts a form to an endpoint, with the secret of a client where one is given as `id:secret`. */
export const post = async (
  url: string,
  fields: Readonly<Record<string, string>>,
  basic?: string,
): Promise<OAuthAnswer> => {
  const headers = basic === undefined ? {} : { authorization: `Basic ${Buffer.from(basic).toString('base64')}` };
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), headers });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as OAuthAnswer['body']) };
};

/** The claims of a token; its signature is not checked. */
export const claimsOf = (token: string | undefined): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from((token ?? '').split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

/**
 * Makes the address at which the public client `flytectl` begins the authorization code flow, with the PKCE verifier
 * and the redirect address that it needs to redeem the code.
 */
export const begin = (issuer: string, scope = 'all offline', redirect = 'http://localhost:53593/callback') => {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: 'flytectl',
    response_type: 'code',
    scope,
    state: 'the-state',
    redirect_uri: redirect,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return { url: `${issuer}/oauth2/authorize?${query.toString()}`, verifier, redirect };
};

/** Signs in with a browser, consents to the scope, and returns the code that is sent to the client. */
export const getCode = async (issuer: string, { name, password }: Credentials, scope?: string): Promise<SentCode> => {
  const { url, verifier, redirect } = begin(issuer, scope);
  const browser = openBrowser();
  const login = await browser.open(url);
  const consent = await browser.submit(login, '/login', { name, password });
  const end: Page = await browser.submit(consent, '/consent');
  return { code: new URL(end.url).searchParams.get('code') ?? '', verifier, redirect };
};

/** Exchanges a code for tokens. */
export const redeem = (issuer: string, { code, verifier, redirect }: SentCode): Promise<OAuthAnswer> =>
  post(`${issuer}/oauth2/token`, {
    grant_type: 'authorization_code',
    client_id: 'flytectl',
    code,
    code_verifier: verifier,
    redirect_uri: redirect,
  });

/** Exchanges a refresh token for tokens. */
export const refresh = (issuer: string, token: string | undefined): Promise<OAuthAnswer> =>
  post(`${issuer}/oauth2/token`, {
    grant_type: 'refresh_token',
    client_id: 'flytectl',
    refresh_token: token ?? '',
  });
