import { type Cookie, cookieIn, cookieName, cookieNames, setCookie } from './cookies.js';
import type { Sealer } from './sealed.js';
import { pathPrefix } from '../server/endpoints.js';
import type { BegunSignIn } from './sign-in.js';

/** Writes and reads what browsers keep for this server. The methods that write return values of `Set-Cookie`. */
export interface CookieJar {
  begun(begun: BegunSignIn): Promise<string>;
  /** Removes sign-ins that were begun and not ended, where a browser has many of them. */
  endOld(cookies: string): readonly string[];
  endBegun(state: string): string;
  /** @param expiresAt in milliseconds since 1970. */
  session(token: string, expiresAt: number): Promise<string>;
  endSession(): string;
  /** The sign-in that this browser has begun with a state; `undefined` when there is none. */
  begunIn(cookies: string, state: string): Promise<BegunSignIn | undefined>;
  /** The access token of the session; `undefined` when there is none that is valid. */
  tokenIn(cookies: string): Promise<string | undefined>;
}

type Options = {
  /** The URL under which browsers reach this server, without a slash at its end. */
  readonly baseUrl: () => string;
  readonly sealer: Sealer;
  readonly now: () => number;
};

const SIGN_IN_MS = 10 * 60_000;

/** Sign-ins that a browser keeps beside a new one; requests with many cookies have headers that are too large. */
const MAX_BEGUN = 4;
const MS = 1_000;

/** Sign-ins of several tabs go on beside each other: each has a cookie of its own. */
const BEGUN = 'flightlog_sign_in_';

const begunName = (state: string): string => `${BEGUN}${state.replace(/[^\w-]/gu, '').slice(0, 16)}`;

/** The issuer may be another site, which leads the browser back, so this cookie must come along from there. */
const ofBegun = (state: string) => ({ name: begunName(state), sameSite: 'Lax' }) as const;

const OF_SESSION = { name: 'flightlog_session', sameSite: 'Strict' } as const;

const isBegun = (content: Readonly<Record<string, unknown>> | undefined): content is BegunSignIn =>
  content !== undefined && ['state', 'nonce', 'verifier', 'target'].every((name) => typeof content[name] === 'string');

/**
 * Makes the jar of a server. With TLS and the path `/`, no other host of the domain can set its cookies, and so sign a
 * person in under another name. Below a path prefix, browsers do not send them to other programs of the host.
 */
export const cookieJar = ({ baseUrl, sealer: seal, now }: Options): CookieJar => {
  const isSecure = (): boolean => baseUrl().startsWith('https:');
  const path = (): string => pathPrefix(baseUrl()) || '/';
  const set = (cookie: Omit<Cookie, 'path'>): string => setCookie({ ...cookie, path: path() }, isSecure());
  const nameOf = (name: string): string => cookieName(name, { isSecure: isSecure(), path: path() });
  const read = (header: string, { name }: Pick<Cookie, 'name'>): string => cookieIn(header, nameOf(name)) ?? '';
  return {
    begun: async (begun) => {
      const value = await seal.seal('sign-in', begun, now() + SIGN_IN_MS);
      return set({ ...ofBegun(begun.state), value, maxAge: SIGN_IN_MS / MS });
    },
    endOld: (cookies) => {
      const prefix = nameOf(BEGUN);
      const old = cookieNames(cookies).filter((name) => name.startsWith(prefix));
      const states = old.slice(0, -MAX_BEGUN).map((name) => name.slice(prefix.length));
      return states.map((state) => set({ ...ofBegun(state), value: '', maxAge: 0 }));
    },
    endBegun: (state) => set({ ...ofBegun(state), value: '', maxAge: 0 }),
    session: async (token, expiresAt) => {
      const value = await seal.seal('session', { token }, expiresAt);
      return set({ ...OF_SESSION, value, maxAge: Math.max(1, Math.floor((expiresAt - now()) / MS)) });
    },
    endSession: () => set({ ...OF_SESSION, value: '', maxAge: 0 }),
    begunIn: async (cookies, state) => {
      const begun = await seal.open('sign-in', read(cookies, ofBegun(state)));
      return isBegun(begun) && begun.state === state ? begun : undefined;
    },
    tokenIn: async (cookies) => {
      const content = await seal.open('session', read(cookies, OF_SESSION));
      return typeof content?.['token'] === 'string' ? content['token'] : undefined;
    },
  };
};
