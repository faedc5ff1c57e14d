import { uploadAt, type UploadKey } from '../../kernel/ports/uploads.js';
import { type LinkClaims, linkTokens } from './link-tokens.js';

/** Where links to files lead, below the address of the server. */
const LINKS = '/data/';

/** What links are made with. */
export type LinkSettings = {
  readonly key: Uint8Array;
  /** The address that clients reach this server at, without a slash at its end. */
  readonly publicUrl: () => string;
  /** In milliseconds. */
  readonly now: () => number;
};

/** What a link that was believed may do, and with which file. */
export type BelievedLink = LinkClaims & { readonly key: UploadKey };

/** Links to files of this server. */
export interface FileLinks {
  make(claims: LinkClaims, expiresInSeconds: number): Promise<string>;
  /** @returns `undefined` for a link that was not made here, has been changed, has expired, or does something else. */
  read(link: URL, does: LinkClaims['does']): Promise<BelievedLink | undefined>;
}

const pathOf = (place: string): string => `${LINKS}${place.split('/').map(encodeURIComponent).join('/')}`;

/** Links by one key: the path is for people, the token says what may be done, and both have to agree. */
export const fileLinks = ({ key, publicUrl, now }: LinkSettings): FileLinks => {
  const tokens = linkTokens(key, now);
  return {
    make: async (claims, expiresInSeconds) =>
      `${publicUrl()}${pathOf(claims.place)}?token=${await tokens.sign(claims, expiresInSeconds)}`,
    read: async (link, does) => {
      const claims = await tokens.verify(link.searchParams.get('token') ?? '');
      if (claims?.does !== does || link.pathname !== new URL(pathOf(claims.place), link).pathname) return undefined;
      const upload = uploadAt(claims.place);
      return upload && { ...claims, key: upload };
    },
  };
};
