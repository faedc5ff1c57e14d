import { type Cookie, cookieIn, cookieName, cookieNames, setCookie } from './cookies.js';
import type { Sealer } from './sealed.js';
import type { BegunSignIn } from './sign-in.js';

/** Writes and reads what browsers keep for this server. The methods that write return a value of `Set-Cookie`. */
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
  /** The address under which browsers reach this server. */
  readonly origin: () => string;
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

/**
 * The issuer is another site and leads the browser back, so this cookie must come along from there. With the path `/`
 * no other host of the domain can set it, and so sign a person in under another name.
 */
const AS_BEGUN = { path: '/', sameSite: 'Lax' } as const;

const ofBegun = (state: string): Pick<Cookie, 'name' | 'path' | 'sameSite'> => ({
  name: begunName(state),
  ...AS_BEGUN,
});

const OF_SESSION = { name: 'flightlog_session', path: '/', sameSite: 'Strict' } as const;

const isBegun = (content: Readonly<Record<string, unknown>> | undefined): content is BegunSignIn =>
  content !== undefined && ['state', 'nonce', 'verifier', 'target'].every((name) => typeof content[name] === 'string');

/** Makes the jar of a server. */
export const cookieJar = ({ origin, sealer: seal, now }: Options): CookieJar => {
  const isSecure = (): boolean => origin().startsWith('https:');
  const set = (cookie: Cookie): string => setCookie(cookie, isSecure());
  const read = (header: string, { name, path }: Pick<Cookie, 'name' | 'path'>): string =>
    cookieIn(header, cookieName(name, { isSecure: isSecure(), path })) ?? '';
  return {
    begun: async (begun) => {
      const value = await seal.seal('sign-in', begun, now() + SIGN_IN_MS);
      return set({ ...ofBegun(begun.state), value, maxAge: SIGN_IN_MS / MS });
    },
    endOld: (cookies) => {
      const prefix = cookieName(BEGUN, { isSecure: isSecure(), path: AS_BEGUN.path });
      const old = cookieNames(cookies).filter((name) => name.startsWith(prefix));
      const ended = { ...AS_BEGUN, value: '', maxAge: 0 };
      return old.slice(0, -MAX_BEGUN).map((name) => set({ ...ended, name: `${BEGUN}${name.slice(prefix.length)}` }));
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
