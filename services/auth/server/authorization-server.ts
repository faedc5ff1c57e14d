import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LocalIssuer } from '../../kernel/ports/authentication.js';
import type { AuthorizationState } from '../../kernel/ports/authorization-state.js';
import { clientAddress } from '../client-address.js';
import type { Users } from '../users/users.js';
import type { Clients } from './clients.js';
import { answerPage, INTERACTIONS } from './interactions.js';
import { pageHeaders } from './pages/page.js';
import { makeProvider, type TokenLifetimes } from './provider.js';
import { ALGORITHM, currentKeys, type SigningKeys } from './signing-keys.js';
import type { OnAttempt } from './sign-in-attempt.js';
import { signInLimits } from './sign-in-limits.js';

/** Settings and services of an authorization server. */
export type AuthorizationServerOptions = {
  /** The address under which clients reach REST, without a path; empty: the one that is listened on. */
  readonly issuer: string;
  readonly state: AuthorizationState;
  readonly users: Users;
  readonly clients: Clients;
  readonly lifetimes: TokenLifetimes;
  readonly rotateKeysAfterMs: number;
  /** Failed attempts in a minute for each name; six times as many for each address. */
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
  /** Starts it with the address that is listened on; before, it answers 503. */
  listensAt(address: string): Promise<void>;
  close(): Promise<void>;
}

const WELL_KNOWN = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
const ENDPOINTS = '/oauth2/';

const HOUR_MS = 3_600_000;
const LOOK_MS = 10_000;
const DAY_S = 24 * 60 * 60;
const UNAVAILABLE = 503;

const { 'content-type': _ofPages, ...SAFE_HEADERS } = pageHeaders();

type Started = { readonly provider: ReturnType<typeof makeProvider>; readonly keys: SigningKeys };

/** Makes all addresses in answers those of the issuer, whatever a client has put in `Host`. */
const pinHost = (request: IncomingMessage, issuer: string, isBehindProxy: boolean): void => {
  const { host, protocol } = new URL(issuer);
  request.headers.host = host;
  if (isBehindProxy) request.headers['x-forwarded-proto'] = protocol.replace(':', '');
  delete request.headers['x-forwarded-host'];
};

const answerEndpoint = async (
  provider: Started['provider'],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  for (const [name, value] of Object.entries(SAFE_HEADERS)) response.setHeader(name, value);
  await provider.callback()(request, response);
};

/** Makes an authorization server. It closes its state. */
export const authorizationServer = (options: AuthorizationServerOptions): AuthorizationServer => {
  const { state, lifetimes, isBehindProxy, now = Date.now, onError, onAttempt = () => undefined } = options;
  const limits = signInLimits(options.failuresPerMinute, now);
  const addressOf = (request: IncomingMessage): string => clientAddress(request, isBehindProxy);
  // Another process may sign with a key for up to an hour after it was replaced.
  const tokenMs = lifetimes.accessSeconds * 1_000 + 2 * HOUR_MS;
  const keyLifetimes = { rotateAfterMs: options.rotateKeysAfterMs, tokenMs };
  let { issuer } = options;
  let started: Started | undefined;
  let startedWith = '';

  const start = async (): Promise<void> => {
    const keys = await currentKeys(state, now(), keyLifetimes);
    const ids = [...keys.public.keys()].join();
    if (ids !== startedWith)
      started = { keys, provider: makeProvider({ ...options, issuer, keys, limits, addressOf, onAttempt }) };
    startedWith = ids;
    await state.removeExpired(Math.floor(now() / 1_000) - DAY_S);
  };
  const renewing = setInterval(() => void start().catch(onError), HOUR_MS).unref();

  let lookedAt = -Infinity;
  /** Finds a key that another process has made since; unknown ids lead to one look in ten seconds. */
  const newKeyOf = async (id: string): Promise<KeyObject | undefined> => {
    if (now() - lookedAt < LOOK_MS) return undefined;
    lookedAt = now();
    await start();
    return started?.keys.public.get(id);
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!started) {
      response.writeHead(UNAVAILABLE).end();
      return;
    }
    const { provider } = started;
    pinHost(request, issuer, isBehindProxy);
    const signIn = { provider, users: options.users, limits, onAttempt };
    if (request.url?.startsWith(INTERACTIONS) === true)
      await answerPage(signIn, { request, response, address: addressOf(request) });
    else await answerEndpoint(provider, request, response);
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
