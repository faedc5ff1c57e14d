import { errors, jwtVerify, SignJWT } from 'jose';

import { uploadAt, type UploadKey } from '../../kernel/ports/uploads.js';
import { keyFile } from '../key-file.js';

/** Claims of a link: the operation and the file that it permits. */
export type LinkClaims = {
  readonly does: 'put' | 'get';
  /** Path of the file below the root of the store. Links that were issued have the claim under this name. */
  readonly place: string;
  /** MD5 that the content must have; base64. */
  readonly md5?: string;
};

/** Signs and verifies the claims of links. */
interface LinkTokens {
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
const linkTokens = (key: Uint8Array, now: () => number): LinkTokens => ({
  sign: (claims, expiresInSeconds) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: ALGORITHM })
      .setAudience(AUDIENCE)
      .setExpirationTime(Math.ceil(now() / 1_000) + expiresInSeconds)
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

/** Path prefix of links to files, below the address of the server. */
const LINKS = '/data/';

/** Settings for making links. */
export type LinkSettings = {
  readonly key: Uint8Array;
  /** Address at which clients reach this server, without a slash at its end. */
  readonly publicUrl: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/** Verified claims of a link, with the key of its file. */
export type VerifiedLink = LinkClaims & { readonly key: UploadKey };

/** Links to files of this server. */
export interface FileLinks {
  make(claims: LinkClaims, expiresInSeconds: number): Promise<string>;
  /**
   * @returns `undefined` for a link that was not made by this server, was modified, has expired, or is for another
   * operation.
   */
  read(link: URL, does: LinkClaims['does']): Promise<VerifiedLink | undefined>;
}

const linkPathOf = (file: string): string => `${LINKS}${file.split('/').map(encodeURIComponent).join('/')}`;

/**
 * Makes and verifies links with one key. The path is readable for people, the token holds the signed claims, and both
 * have to agree.
 */
export const fileLinks = ({ key, publicUrl, now }: LinkSettings): FileLinks => {
  const tokens = linkTokens(key, now);
  return {
    make: async (claims, expiresInSeconds) =>
      `${publicUrl()}${linkPathOf(claims.place)}?token=${await tokens.sign(claims, expiresInSeconds)}`,
    read: async (link, does) => {
      const claims = await tokens.verify(link.searchParams.get('token') ?? '');
      if (claims?.does !== does || link.pathname !== new URL(linkPathOf(claims.place), link).pathname) return undefined;
      const upload = uploadAt(claims.place);
      return upload && { ...claims, key: upload };
    },
  };
};
