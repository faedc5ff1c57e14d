/** A file that a client has uploaded, or may. */
export type UploadKey = {
  /** Empty where there are no organisations. */
  readonly org: string;
  readonly project: string;
  readonly domain: string;
  /** Folders and name below the project and domain, each part a {@link isPathPart}. */
  readonly path: string;
};

/** A link that a client uses without credentials until it expires. */
export type UploadLink = { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** An upload that is there. */
export type FoundUpload = {
  /** It is larger than may be uploaded, and came to a place where that is not seen before it is there. */
  readonly isTooLarge: boolean;
  /** Whether the content has this MD5, 16 bytes. */
  hasMd5(md5: Uint8Array): Promise<boolean>;
};

/** What an upload is to be, and until when its link is good. */
export type UploadTerms = {
  /** Of the content, 16 bytes: any other content is refused. */
  readonly md5: Uint8Array | undefined;
  /** Note the MD5 with the file as well. */
  readonly notesMd5: boolean;
  readonly expiresInSeconds: number;
};

/** Files of clients, which they put and get through links. A file is whole or not there. */
export interface UploadStore {
  /** How clients name the file; with what they find it in storage that they can read. */
  nativeUrl(key: UploadKey): string;

  /** The file that such a name is of; `undefined` when it is none of this store. */
  keyOf(nativeUrl: string): UploadKey | undefined;

  /**
   * @returns `undefined` when there is no such file.
   * @throws {StoreUnavailable} when that cannot be found out.
   */
  find(key: UploadKey): Promise<FoundUpload | undefined>;

  linkToPut(key: UploadKey, terms: UploadTerms): Promise<UploadLink>;
  linkToGet(key: UploadKey, expiresInSeconds: number): Promise<string>;
}

/** Why a link does not do what is asked of it. */
export type LinkRefusal =
  /** Not made here, changed, expired, or for something else. */
  | 'link-invalid'
  | 'content-differs'
  | 'content-too-large'
  | 'content-cut-off'
  /** Another content is there. */
  | 'upload-exists'
  | 'upload-unknown';

/** Serves the links of a store that has no server of its own. */
export interface LinkedFiles {
  /**
   * Stores a file, durably before it answers.
   *
   * @returns why not; `undefined` when it is stored, or was before.
   * @throws {StoreUnavailable} when it could not be made durable.
   */
  put(link: URL, body: AsyncIterable<Uint8Array>, claims: PutClaims): Promise<LinkRefusal | undefined>;

  /** @throws {StoreUnavailable} when it cannot be read. */
  get(link: URL): Promise<OpenFile | LinkRefusal>;
}

/** What the headers of an upload say of its content. */
export type PutClaims = { readonly sizeBytes?: number; readonly md5?: string };

/** A file on its way to a client, who has to read it to its end or destroy it. */
export type OpenFile = {
  readonly name: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Uint8Array>;
};

const MAX_PART_BYTES = 255;
const MAX_PATH_BYTES = 800;
const MAX_PARTS = 32;
// eslint-disable-next-line no-control-regex -- these are what is looked for
const UNSAFE = /^\.{1,2}$|[\u0000-\u001f\u007f/]|\p{Cs}/u;
const utf8 = new TextEncoder();

/** Whether a text can be one part of a path, everywhere: not empty, no way up, nothing that cannot be seen. */
export const isPathPart = (text: string): boolean =>
  text !== '' && !UNSAFE.test(text) && utf8.encode(text).length <= MAX_PART_BYTES;

/** Whether a text can be the path of an upload. */
export const isUploadPath = (path: string): boolean => {
  const parts = path.split('/');
  return parts.length <= MAX_PARTS && parts.every(isPathPart) && utf8.encode(path).length <= MAX_PATH_BYTES;
};

/**
 * Where an upload lies below the root of its store. Those of organisations lie apart, so that no two keys share a place.
 */
export const uploadPath = ({ org, project, domain, path }: UploadKey): string =>
  [...(org === '' ? ['uploads'] : ['orgs', org]), project, domain, path].join('/');

const keyOfParts = ([org = '', project = '', domain = '', ...path]: readonly string[]): UploadKey => ({
  org,
  project,
  domain,
  path: path.join('/'),
});

/** The upload that lies there; `undefined` when nothing can. */
export const uploadAt = (place: string): UploadKey | undefined => {
  const [area, ...rest] = place.split('/');
  if (area !== 'uploads' && area !== 'orgs') return undefined;
  const key = keyOfParts(area === 'orgs' ? rest : ['', ...rest]);
  const named = [...(area === 'orgs' ? [key.org] : []), key.project, key.domain];
  return named.every(isPathPart) && isUploadPath(key.path) ? key : undefined;
};
