import type { IncomingMessage, ServerResponse } from 'node:http';

import { buildEndSessionUrl } from 'openid-client';

import type { Authentication, Caller } from '../../kernel/ports/authentication.js';
import { RpcError } from '../../kernel/rpc.js';
import { clientAddress } from '../client-address.js';
import { isIssuerAway } from '../issuer-errors.js';
import { CALLBACK, SIGNED_OUT } from '../server/browser-client.js';
import { pathPrefix } from '../server/endpoints.js';
import { html, htmlPage, pageHeaders, problemNote } from '../server/pages/page.js';
import type { OnAttempt, SignInAttempt } from '../server/sign-in-attempt.js';
import type { SignInLimits } from '../server/sign-in-limits.js';
import type { CookieJar } from './cookie-jar.js';
import { MAX_COOKIE_BYTES } from './cookies.js';
import type { IssuerClient } from './issuer-client.js';
import { beginSignIn, type BegunSignIn, endSignIn } from './sign-in.js';

/** The reason why signing in or out cannot go on: an HTTP status, and a text for the person. */
class SignInFailure extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Answers with a page that gives the reason, with a link to the console, where the person can sign in again. */
const sendSignInFailure = (response: ServerResponse, { status, message }: SignInFailure): void => {
  const content = html`${problemNote(message)}
    <p><a href="console">Start again</a></p>`;
  response.writeHead(status, pageHeaders()).end(htmlPage('Signing in or out has failed', content));
};

/** Settings and services of browser sessions. */
export type BrowserSessionsOptions = {
  /** The URL under which browsers reach this server, without a slash at its end. */
  readonly baseUrl: () => string;
  readonly issuer: IssuerClient;
  readonly jar: CookieJar;
  readonly authentication: Authentication;
  readonly isBehindProxy: boolean;
  /** Limits failed returns from the issuer, by address. */
  readonly limits: SignInLimits;
  readonly onAttempt: OnAttempt;
  /** Called with the reason why signing in or out has failed, for the log. */
  readonly onFailure: (error: unknown) => void;
  readonly now: () => number;
};

/** Signs people in for browser sessions: an access token of the issuer, sealed in a cookie. */
export interface BrowserSessions {
  /** True for the paths `/login`, `/callback` and `/logout`. */
  answers(path: string): boolean;
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The access token of the session in a `Cookie` header; `undefined` when there is none that is valid. */
  tokenOf(cookies: string): Promise<string | undefined>;
}

/** The life of a session whose token does not say when it expires, in milliseconds. */
const SESSION_MS = 3_600_000;

/** A path, or a whole address, as flyteconsole sends it. */
const PATH_OR_ADDRESS = /^(?:\/(?![/\\])|https?:\/\/)/iu;

/** The path and query on this server that a text names, below its path prefix; `undefined` for every other address. */
export const pathWithin = (text: string, baseUrl: string): string | undefined => {
  if (!PATH_OR_ADDRESS.test(text) || !URL.canParse(text, baseUrl)) return undefined;
  const url = new URL(text, baseUrl);
  const path = `${url.pathname}${url.search}`;
  const isBelow = `${url.pathname}/`.startsWith(`${pathPrefix(baseUrl)}/`);
  // Without its dot segments, `/.//host` is `//host`, which browsers take for an address.
  return url.origin === new URL(baseUrl).origin && isBelow && !path.startsWith('//') ? path : undefined;
};

/** A request of a browser for one of the paths. */
type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The URL of this server for browsers, without a slash at its end. */
  readonly baseUrl: string;
  /** The URL of the request, below `baseUrl`, whatever its `Host` says. */
  readonly url: URL;
  /** The address of the browser. */
  readonly address: string;
};

type Step = (exchange: Exchange, options: BrowserSessionsOptions) => Promise<void>;

const redirect = (response: ServerResponse, to: string, cookies: readonly string[]): void => {
  response.writeHead(302, { location: to, 'set-cookie': [...cookies], 'cache-control': 'no-store' }).end();
};

const consoleBelow = (baseUrl: string): string => `${pathPrefix(baseUrl)}${SIGNED_OUT}`;

const targetOf = ({ url: { searchParams }, baseUrl }: Exchange): string => {
  const requested = searchParams.get('redirect_url') ?? '';
  const target = requested === '' ? consoleBelow(baseUrl) : pathWithin(requested, baseUrl);
  if (target === undefined) throw new SignInFailure(403, 'redirect_url must be a path or an address of this server.');
  return target;
};

const away = (cause: unknown): SignInFailure =>
  new SignInFailure(503, 'The issuer of sign-ins does not answer. Try again later.', { cause });

const logIn: Step = async (exchange, { issuer, jar }) => {
  const { request, response, baseUrl } = exchange;
  const { url: to, begun } = await beginSignIn(issuer, targetOf(exchange), exchange).catch((cause: unknown) => {
    throw away(cause);
  });
  const cookie = await jar.begun(begun);
  const isKept = cookie.length <= MAX_COOKIE_BYTES; // browsers drop a larger one
  const kept = isKept ? cookie : await jar.begun({ ...begun, target: consoleBelow(baseUrl) });
  redirect(response, to.href, [kept, ...jar.endOld(request.headers.cookie ?? '')]);
};

const begunOf = async ({ request, url }: Exchange, jar: CookieJar): Promise<BegunSignIn> => {
  const begun = await jar.begunIn(request.headers.cookie ?? '', url.searchParams.get('state') ?? '');
  if (begun) return begun;
  const text = 'This sign-in has expired, was used before, or was begun in another browser or under another address.';
  throw new SignInFailure(401, text);
};

/** Asks for the caller of the token, because a session with a token that is refused would begin again for ever. */
const callerOf = async (token: string, { authentication }: BrowserSessionsOptions): Promise<Caller> => {
  try {
    return await authentication.callerOf((name) => (name === 'authorization' ? `Bearer ${token}` : undefined));
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    if (cause.code === 'UNAVAILABLE') throw away(cause);
    throw new SignInFailure(403, `The token of the issuer is refused: ${cause.message}.`, { cause });
  }
};

const sessionOf = async (token: string, caller: Caller, { jar, now }: BrowserSessionsOptions): Promise<string> => {
  const cookie = await jar.session(token, caller.identity.expiresAt ?? now() + SESSION_MS);
  if (cookie.length <= MAX_COOKIE_BYTES) return cookie;
  throw new SignInFailure(403, 'The token of the issuer is too large for a cookie: let it have fewer claims.');
};

/** Each return of a browser with a code is a request to the issuer, also when the code is invented. */
const assertNotLimited = (wait: number, response: ServerResponse): void => {
  if (wait === 0) return;
  response.setHeader('retry-after', wait);
  throw new SignInFailure(429, `Too many attempts. Try again in ${wait} seconds.`);
};

const finishSignIn: Step = async (exchange, options) => {
  const { response, url, address } = exchange;
  const { issuer, jar, limits, onAttempt } = options;
  const begun = await begunOf(exchange, jar);
  assertNotLimited(limits.take(address), response);
  const used = jar.endBegun(begun.state);
  const token = await endSignIn(issuer, begun, { url, address }).catch((cause: unknown) => {
    if (isIssuerAway(cause)) {
      limits.giveBack(address); // nothing was refused
      throw away(cause);
    }
    response.setHeader('set-cookie', used);
    throw new SignInFailure(403, 'The issuer has refused the sign-in.', { cause });
  });
  limits.giveBack(address);
  response.setHeader('set-cookie', used);
  const caller = await callerOf(token, options);
  const session = await sessionOf(token, caller, options);
  const { principal, clientId } = caller.identity;
  onAttempt({ action: CALLBACK, principal, clientId, address, code: 'OK' });
  redirect(response, begun.target, [used, session]);
};

/** True unless a page of another origin has made the request; browsers without this header are trusted. */
const isOwnRequest = ({ headers }: IncomingMessage): boolean =>
  ['same-origin', 'none'].includes(headers['sec-fetch-site'] ?? 'none');

/**
 * Ends the session here, and redirects to the issuer to end it there, if the issuer has an address for that. A request
 * of a page of another origin ends nothing.
 */
const logOut: Step = async (exchange, { issuer, jar }) => {
  const { request, response, baseUrl, address } = exchange;
  const target = targetOf(exchange);
  if (!isOwnRequest(request)) throw new SignInFailure(403, 'Sign out from the console.');
  const configuration = await issuer.configuration(address).catch(() => undefined);
  const hasPage = configuration?.serverMetadata().end_session_endpoint !== undefined;
  const after = { post_logout_redirect_uri: `${baseUrl}${SIGNED_OUT}` };
  redirect(response, hasPage ? buildEndSessionUrl(configuration, after).href : target, [jar.endSession()]);
};

const STEPS: Readonly<Record<string, Step>> = { '/login': logIn, [CALLBACK]: finishSignIn, '/logout': logOut };

const CODES: Readonly<Record<number, SignInAttempt['code']>> = { 429: 'RESOURCE_EXHAUSTED', 503: 'UNAVAILABLE' };

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

const fail = (error: unknown, { request, response, address }: Exchange, options: BrowserSessionsOptions): void => {
  if (!(error instanceof SignInFailure)) throw error;
  options.onFailure(error.cause ?? error);
  const attempt = { action: CALLBACK, principal: '', clientId: '', address };
  if (pathOf(request) === CALLBACK) options.onAttempt({ ...attempt, code: CODES[error.status] ?? 'UNAUTHENTICATED' });
  sendSignInFailure(response, error);
};

/** Makes the browser sessions of a process. Nothing of a session is kept here: it is in the browser, encrypted. */
export const browserSessions = (options: BrowserSessionsOptions): BrowserSessions => ({
  answers: (path) => Object.hasOwn(STEPS, path),
  answer: async (request, response) => {
    const baseUrl = options.baseUrl();
    const url = new URL(`${baseUrl}${request.url ?? ''}`);
    const step = request.method === 'GET' ? STEPS[pathOf(request)] : undefined;
    if (!step) {
      response.writeHead(405, { allow: 'GET' }).end();
      return;
    }
    const exchange = { request, response, baseUrl, url, address: clientAddress(request, options.isBehindProxy) };
    await step(exchange, options).catch((error: unknown) => fail(error, exchange, options));
  },
  tokenOf: (cookies) => options.jar.tokenIn(cookies),
});
