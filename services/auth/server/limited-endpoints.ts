import type { IncomingMessage } from 'node:http';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { type Clients, isSecretOf } from './clients.js';
import { ROUTES } from './endpoints.js';
import { pageHeaders } from './pages/page.js';
import { failurePage } from './pages/sign-in.js';
import type { OnAttempt, SignInAttempt } from './sign-in-attempt.js';
import type { SignInLimits } from './sign-in-limits.js';

/** The limits of the endpoints, and what they need to know of a request. */
export type EndpointLimits = {
  readonly limits: SignInLimits;
  readonly clients: Clients;
  /** The address that a request comes from. */
  readonly addressOf: (request: IncomingMessage) => string;
  readonly onAttempt: OnAttempt;
};

/** The requests that count towards the limits: those that fail, all, or those of browsers that are not signed in. */
type Counted = 'failures' | 'all' | 'strangers';

/** Endpoints at which a client could guess, by POST. */
const COUNTED: Readonly<Record<string, Counted>> = {
  [ROUTES.token]: 'failures',
  [ROUTES.revocation]: 'failures',
  // Each request stores a code, and each form may be a guess at the code of another person.
  [ROUTES.device_authorization]: 'all',
  [ROUTES.code_verification]: 'all',
};

/** Endpoints for browsers: they store a sign-in or a session for each browser without one. */
const BROWSER_ENDPOINTS: readonly string[] = [ROUTES.authorization, ROUTES.code_verification, ROUTES.end_session];

/** Answers with which a client that polls is asked to wait; they are no failures. */
const PENDING = ['authorization_pending', 'slow_down'];

const TOO_MANY_REQUESTS = 429;
const FAILED = 400;
const SERVER_ERROR = 500;

/**
 * The endpoint of a path. The library takes a path in any case, and with a slash at its end, for that of an endpoint.
 */
const endpointOf = (path: string): string => path.toLowerCase().replace(/\/$/u, '');

/** Decodes a client id or secret, which has many spellings in Basic credentials (RFC 6749, section 2.3.1). */
const formDecoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replace(/\+/gu, '%20'));
  } catch {
    return text;
  }
};

type Basic = { readonly id: string; readonly secret: string };

/** The id and the secret of a client, where the header has them; `undefined` otherwise. */
const basicOf = ({ headers }: IncomingMessage): Basic | undefined => {
  const [, encoded] = /^Basic +(\S+) *$/iu.exec(headers.authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [id = '', ...secret] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return { id: formDecoded(id), secret: formDecoded(secret.join(':')) };
};

/**
 * True for credentials that are no guess: the library refuses every empty secret. For a client without a secret, OAuth
 * libraries of Go send them first, and then only the id, in the body.
 */
const hasEmptySecret = (request: IncomingMessage): boolean => basicOf(request)?.secret === '';

/** The requests that count at an endpoint; `undefined` when this one does not. */
const countedAs = ({ method, path, req }: KoaContextWithOIDC): Counted | undefined => {
  const endpoint = endpointOf(path);
  const counted = method === 'POST' ? COUNTED[endpoint] : undefined;
  if (counted === undefined) return BROWSER_ENDPOINTS.includes(endpoint) ? 'strangers' : undefined;
  return counted === 'failures' && hasEmptySecret(req) ? undefined : counted;
};

const isPending = ({ body }: KoaContextWithOIDC): boolean =>
  PENDING.includes(String((body as { readonly error?: unknown } | undefined)?.error));

/** The result of a request, for the audit. After an error of this server, such as of a store, nothing was refused. */
const resultOf = ({ status }: KoaContextWithOIDC): SignInAttempt['code'] => {
  if (status >= SERVER_ERROR) return 'UNAVAILABLE';
  return status >= FAILED ? 'UNAUTHENTICATED' : 'OK';
};

/** Before the library has looked at a request, its context has no `oidc`. */
type EarlyContext = { readonly path: string; readonly oidc?: KoaContextWithOIDC['oidc'] };

const attemptOf = (context: EarlyContext, address: string, code: SignInAttempt['code']): SignInAttempt => ({
  action: endpointOf(context.path),
  principal: context.oidc?.account?.accountId ?? '',
  clientId: context.oidc?.client?.clientId ?? '',
  address,
  code,
});

const refuse = (context: KoaContextWithOIDC, seconds: number): void => {
  context.status = TOO_MANY_REQUESTS;
  context.set('retry-after', String(seconds));
  context.body = { error: 'temporarily_unavailable', error_description: `too many attempts, wait ${seconds} seconds` };
  // The other endpoints answer in JSON (RFC 6749, section 5.2), whatever the HTTP library of a client accepts by
  // default.
  if (!BROWSER_ENDPOINTS.includes(endpointOf(context.path)) || context.accepts('json', 'html') !== 'html') return;
  context.set({ ...pageHeaders() });
  context.body = failurePage('Too many attempts', `Try again in ${seconds} seconds.`);
};

const isSignedIn = ({ oidc }: EarlyContext): boolean => oidc?.session?.accountId !== undefined;

type Taken = { readonly wait: number; readonly name: string | undefined };

/**
 * Takes an attempt for the address and the client that the Basic credentials name. The right secret cannot be guessed:
 * a client that sends it is not held back by the failed attempts of others under its id.
 */
const takeAttempt = async (
  { limits, clients }: EndpointLimits,
  address: string,
  basic: Basic | undefined,
): Promise<Taken> => {
  const wait = limits.take(address, basic?.id);
  if (wait === 0 || basic === undefined) return { wait, name: basic?.id };
  const isRight = isSecretOf(await clients.find(basic.id), basic.secret);
  return { wait: isRight ? limits.take(address) : wait, name: undefined };
};

/**
 * Middleware of Koa that refuses requests for a while after too many that count: by address, and by the client that the
 * Basic credentials name.
 */
export const limitEndpoints =
  (services: EndpointLimits) =>
  async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
    const counted = countedAs(context);
    if (counted === undefined) {
      await next();
      return;
    }
    const { limits, addressOf, onAttempt } = services;
    const address = addressOf(context.req);
    const { wait, name } = await takeAttempt(services, address, basicOf(context.req));
    if (wait > 0) {
      onAttempt(attemptOf(context, address, 'RESOURCE_EXHAUSTED'));
      refuse(context, wait);
      return;
    }
    await next();
    if (counted === 'strangers') {
      if (isSignedIn(context)) limits.giveBack(address, name);
      return;
    }
    const result = resultOf(context);
    if (!isPending(context)) onAttempt(attemptOf(context, address, result));
    if (counted === 'all' || (result === 'UNAUTHENTICATED' && !isPending(context))) return;
    limits.giveBack(address, name);
  };
