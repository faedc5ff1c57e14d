import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LocalIssuer } from '../../kernel/ports/authentication.js';
import type { AuthorizationState } from '../../kernel/ports/authorization-state.js';
import { clientAddress } from '../client-address.js';
import type { Users } from '../users/users.js';
import type { Clients } from './clients.js';
import { pathPrefix } from './endpoints.js';
import { answerPage, INTERACTIONS, type PageRequest, type SignInServices } from './interactions.js';
import { pageHeaders } from './pages/page.js';
import { makeProvider, type ProviderParts, type TokenLifetimes } from './provider.js';
import { ALGORITHM, currentKeys, KEYS_READ_MS, type SigningKeys } from './signing-keys.js';
import { SIGNED_OUT } from './browser-client.js';
import {
  returnFromUpstream,
  type ReturnPages,
  type Upstream,
  upstream,
  UPSTREAM_CALLBACK,
  type UpstreamProvider,
} from './upstream.js';
import type { OnAttempt } from './sign-in-attempt.js';
import { signInLimits } from './sign-in-limits.js';

/** Settings and services of an authorization server. */
export type AuthorizationServerOptions = {
  /** The base URL of REST, without a slash at its end; empty: the URL that the server listens on. */
  readonly issuer: string;
  readonly state: AuthorizationState;
  readonly users: Users;
  readonly clients: Clients;
  /** An upstream provider that signs people in as well. */
  readonly upstream?: UpstreamProvider | undefined;
  readonly lifetimes: TokenLifetimes;
  readonly rotateKeysAfterMs: number;
  /** Failed attempts per minute for each user or client name; six times as many for each address or IPv6 network. */
  readonly failuresPerMinute: number;
  readonly isBehindProxy: boolean;
  readonly onError: (error: Error) => void;
  readonly onAttempt?: OnAttempt;
  readonly now?: () => number;
};

/** The endpoints of OAuth 2.0 and OpenID Connect, for installations without another issuer. */
export interface AuthorizationServer extends LocalIssuer {
  /** True for the paths of its endpoints and pages. */
  answers(path: string): boolean;
  /** Answers a request whose body has not been read. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Starts it with the URL that the server listens on; until then it answers 503. */
  listensAt(address: string): Promise<void>;
  close(): Promise<void>;
}

const WELL_KNOWN = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
const ENDPOINTS = '/oauth2/';

const RELOAD_INTERVAL_MS = 10_000;
const DAY_S = 24 * 60 * 60;
const UNAVAILABLE = 503;

const { 'content-type': _ofPages, ...SECURITY_HEADERS } = pageHeaders();

type Started = {
  readonly provider: ReturnType<typeof makeProvider>;
  readonly upstream: Upstream | undefined;
  readonly keys: SigningKeys;
};

/** Makes all addresses in answers those of the issuer, whatever a client has put in `Host`, with its path prefix. */
const pinAddress = (request: IncomingMessage, issuer: string, isBehindProxy: boolean): void => {
  const { host, protocol } = new URL(issuer);
  request.headers.host = host;
  if (isBehindProxy) request.headers['x-forwarded-proto'] = protocol.replace(':', '');
  delete request.headers['x-forwarded-host'];
  Object.assign(request, { baseUrl: pathPrefix(issuer) }); // oidc-provider reads it
};

const answerEndpoint = async (
  provider: Started['provider'],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
  await provider.callback()(request, response);
};

type Parts = Omit<ProviderParts, 'upstream'> & Pick<AuthorizationServerOptions, 'upstream'> & { now: () => number };

const startedWithKeys = ({ upstream: others, ...parts }: Parts): Started => {
  const signsIn = others && upstream({ ...parts, provider: others });
  return { keys: parts.keys, upstream: signsIn, provider: makeProvider({ ...parts, upstream: signsIn }) };
};

const pagesBelow = (issuer: string): ReturnPages => {
  const prefix = pathPrefix(issuer);
  return { interactions: `${prefix}${INTERACTIONS}`, signedOut: `${prefix}${SIGNED_OUT}` };
};

/** Answers a request for a page of signing in, or for an endpoint. */
const answerAt = async (signIn: SignInServices, pageRequest: PageRequest): Promise<void> => {
  const { request, response } = pageRequest;
  const { url = '' } = request;
  const isFromUpstream = signIn.upstream !== undefined && url.split('?', 1)[0] === UPSTREAM_CALLBACK;
  if (isFromUpstream) returnFromUpstream(request, response, pagesBelow(signIn.provider.issuer));
  else if (url.startsWith(INTERACTIONS)) await answerPage(signIn, pageRequest);
  else await answerEndpoint(signIn.provider, request, response);
};

/** Makes an authorization server, which owns `options.state`: its `close` closes the state, too. */
export const authorizationServer = (options: AuthorizationServerOptions): AuthorizationServer => {
  const { state, lifetimes, isBehindProxy, now = Date.now, onError, onAttempt = () => undefined } = options;
  const limits = signInLimits(options.failuresPerMinute, options.now);
  const addressOf = (request: IncomingMessage): string => clientAddress(request, isBehindProxy);
  // Each process reads the keys at least once an hour, and signs with a new one that is an hour old at a reading.
  const publishedMs = lifetimes.accessSeconds * 1_000 + 2 * KEYS_READ_MS;
  const keyLifetimes = { rotateAfterMs: options.rotateKeysAfterMs, publishedMs };
  let { issuer } = options;
  let started: Started | undefined;
  let startedWith = '';

  const start = async (): Promise<void> => {
    const keys = await currentKeys(state, now(), keyLifetimes);
    const ids = [...keys.public.keys()].join(); // the key that signs comes first
    if (ids !== startedWith) started = startedWithKeys({ ...options, issuer, keys, limits, addressOf, onAttempt, now });
    startedWith = ids;
    await state.removeExpired(Math.floor(now() / 1_000) - DAY_S);
  };
  const renewing = setInterval(() => void start().catch(onError), KEYS_READ_MS).unref();

  let reloadedAt = -Infinity;
  let reloading: Promise<void> = Promise.resolve();
  /**
   * Reloads the keys to find one that another process has made; at most once in ten seconds, so that unknown ids are
   * cheap.
   */
  const newKeyOf = async (id: string): Promise<KeyObject | undefined> => {
    if (Math.abs(now() - reloadedAt) >= RELOAD_INTERVAL_MS) {
      reloadedAt = now();
      reloading = start();
    }
    await reloading;
    return started?.keys.public.get(id);
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!started) {
      response.writeHead(UNAVAILABLE).end();
      return;
    }
    pinAddress(request, issuer, isBehindProxy);
    const signIn = { ...started, users: options.users, limits, onAttempt, onError };
    await answerAt(signIn, { request, response, address: addressOf(request) });
  };

  return {
    get issuer() {
      return issuer;
    },
    get audience() {
      return [issuer];
    },
    algorithms: [ALGORITHM],
    keyOf: async (id) => started?.keys.public.get(id) ?? (await newKeyOf(id)),
    answers: (path) => path.startsWith(ENDPOINTS) || WELL_KNOWN.includes(path),
    answer,
    listensAt: async (address) => {
      issuer ||= address;
      await start();
    },
    close: async () => {
      clearInterval(renewing);
      await state.close();
    },
  };
};
