import { uploadAt, type UploadKey } from '../../kernel/ports/uploads.js';
import { type LinkClaims, linkTokens } from './link-tokens.js';

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
