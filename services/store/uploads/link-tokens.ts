import { errors, jwtVerify, SignJWT } from 'jose';
import { keyFile } from '../key-file.js';

/** Claims of a link: the operation and the file that it permits. */
export type LinkClaims = {
  readonly does: 'put' | 'get';
  /** Path of the file below the root of the store; issued links have it under this name. */
  readonly place: string;
  /** MD5 that the content must have; base64. */
  readonly md5?: string;
};

/** Signs and verifies the claims of links. */
export interface LinkTokens {
  sign(claims: LinkClaims, expiresInSeconds: number): Promise<string>;
  /** @returns `undefined` for a token that was not signed with this key, was modified, or has expired. */
  verify(token: string): Promise<LinkClaims | undefined>;
}

const ALGORITHM = 'HS256';
const AUDIENCE = 'flightlog-file-link';
/**
 * The key that links are signed with, `link.key` in the data directory; created if missing. If it is lost, existing
 * links become invalid; nothing else is affected.
 *
 * @throws {DataDirectoryUnusable} when it cannot be read or written, or is not a key.
 */
export const linkKey = (directory: string): Uint8Array => keyFile(directory, 'link.key');

const claimsIn = ({ does, place, md5 }: Record<string, unknown>): LinkClaims | undefined => {
  if ((does !== 'put' && does !== 'get') || typeof place !== 'string') return undefined;
  return { does, place, ...(typeof md5 === 'string' && { md5 }) };
};

/** Signs tokens with one key; `now` is in milliseconds since 1970. */
export const linkTokens = (key: Uint8Array, now: () => number): LinkTokens => ({
  sign: (claims, expiresInSeconds) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: ALGORITHM })
      .setAudience(AUDIENCE)
      .setExpirationTime(Math.floor(now() / 1_000) + expiresInSeconds)
      .sign(key),
  verify: async (token) => {
    try {
      const options = {
        algorithms: [ALGORITHM],
        audience: AUDIENCE,
        requiredClaims: ['exp'],
        currentDate: new Date(now()),
      };
      return claimsIn((await jwtVerify(token, key, options)).payload);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  },
});
