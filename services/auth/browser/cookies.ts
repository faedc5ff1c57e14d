/** A cookie of this server. Scripts cannot read it; browsers send it to `path` and the paths below it. */
export type Cookie = {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** `Lax` where it must come along when another site leads the browser here. */
  readonly sameSite: 'Strict' | 'Lax';
  /** In seconds; 0 removes the cookie. */
  readonly maxAge: number;
};

/**
 * Browsers may drop a cookie of more than 4,096 bytes, in which its name, value and attributes count (RFC 6265, 6.1).
 */
export const MAX_COOKIE_BYTES = 4_096;

/**
 * The name of a cookie. With TLS its prefix makes browsers refuse a cookie of this name that came without TLS, and,
 * for the path `/`, one that another host of the same domain has set.
 */
export const cookieName = (
  name: string,
  { isSecure, path }: { readonly isSecure: boolean; readonly path: string },
): string => {
  if (!isSecure) return name;
  return path === '/' ? `__Host-${name}` : `__Secure-${name}`;
};

/** The value of `Set-Cookie`. */
export const setCookie = ({ name, value, path, sameSite, maxAge }: Cookie, isSecure: boolean): string =>
  [
    `${cookieName(name, { isSecure, path })}=${value}`,
    `Path=${path}`,
    `Max-Age=${maxAge}`,
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(isSecure ? ['Secure'] : []),
  ].join('; ');

/** The names of all cookies in the header `Cookie`, in their order. */
export const cookieNames = (header: string): readonly string[] =>
  header.split(';').map((pair) => pair.split('=', 1)[0]?.trim() ?? '');

/** The value of a cookie in the header `Cookie`; `undefined` when it is not there. */
export const cookieIn = (header: string, name: string): string | undefined =>
  header
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
