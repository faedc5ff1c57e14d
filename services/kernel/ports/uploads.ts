/** Key of a file that a client has uploaded or may upload. */
export type UploadKey = {
  /** Empty when there are no organisations. */
  readonly org: string;
  readonly project: string;
  readonly domain: string;
  /** Folders and file name below the project and domain; no segment has a {@link segmentProblem}. */
  readonly path: string;
};

/** A link that a client uses without credentials until it expires. */
export type UploadLink = { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** A file that has been uploaded. */
export type FoundUpload = {
  /** True when the file exceeds the upload limit: some stores check the size only after the file is stored. */
  readonly isTooLarge: boolean;
  /**
   * Resolves to true when the content has this MD5, 16 bytes.
   *
   * @throws {StoreUnavailable} when the content cannot be read.
   */
  hasMd5(md5: Uint8Array): Promise<boolean>;
};

/** Conditions of an upload, and the lifetime of its link. */
export type UploadTerms = {
  /** MD5 of the content, 16 bytes: any other content is rejected. `undefined` accepts any content. */
  readonly md5: Uint8Array | undefined;
  /** True to store the MD5, if one is given, with the file as well; a store on a disk has no place for it. */
  readonly notesMd5: boolean;
  readonly expiresInSeconds: number;
};

/** Files that clients put and get through links. A file is either complete or absent. */
export interface UploadStore {
  /** The URL by which clients refer to the file, and find it in storage that they can read themselves. */
  nativeUrl(key: UploadKey): string;

  /**
   * The key behind such a URL; `undefined` when no file of this store can have it. A store on a disk looks only at the
   * end of the path, so that a URL stays valid when the files are moved.
   */
  keyOf(nativeUrl: string): UploadKey | undefined;

  /**
   * @returns `undefined` when there is no such file.
   * @throws {StoreUnavailable} when the store cannot be asked.
   */
  find(key: UploadKey): Promise<FoundUpload | undefined>;

  /** @throws {StoreUnavailable} when the link cannot be signed. */
  linkToPut(key: UploadKey, terms: UploadTerms): Promise<UploadLink>;
  /**
   * @returns the URL of the link.
   * @throws {StoreUnavailable} when the link cannot be signed.
   */
  linkToGet(key: UploadKey, expiresInSeconds: number): Promise<string>;
}

/** Reason why a link was rejected. */
export type LinkRefusal =
  /** Not made by this server, modified, expired, or for another operation. */
  | 'link-invalid'
  /** The content has another MD5 than the link or the header Content-MD5 names. */
  | 'content-differs'
  | 'content-too-large'
  | 'content-cut-off'
  /**
   * A file with different content exists already, or an upload has a file where this one has a folder, or the reverse.
   */
  | 'upload-exists'
  | 'upload-unknown';

/** Serves the links of an upload store that has no server of its own. */
export interface LinkedFiles {
  /**
   * Stores a file and resolves when it is durable.
   *
   * @returns the reason of a rejection; `undefined` when the file is stored now or was stored before.
   * @throws {StoreUnavailable} when it could not be made durable.
   */
  put(link: URL, body: AsyncIterable<Uint8Array>, claims: PutClaims): Promise<LinkRefusal | undefined>;

  /** @throws {StoreUnavailable} when it cannot be read. */
  get(link: URL): Promise<OpenFile | LinkRefusal>;
}

/** Size and MD5 of the content as the headers of an upload state them. */
export type PutClaims = { readonly sizeBytes?: number; readonly md5?: string };

/** A file being downloaded. The caller must close it, whether it has read `content` or not. */
export type OpenFile = {
  readonly name: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Uint8Array>;
  close(): void;
};

const MAX_PART_BYTES = 255;
const MAX_PATH_BYTES = 800;
const MAX_PARTS = 32;
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const UNSAFE = /^\.{1,2}$|[\u0000-\u001f\u007f/]|\p{Cs}/u;
const utf8 = new TextEncoder();

/**
 * The reason why a text cannot be one segment of a path in every store: 1 to 255 bytes, not `.` or `..`, no slash, no
 * control character of ASCII, no lone surrogate. `undefined` when it can.
 */
export const segmentProblem = (text: string): string | undefined => {
  if (text === '' || UNSAFE.test(text)) return 'it cannot be in a path';
  return utf8.encode(text).length > MAX_PART_BYTES ? `a part of a path has at most ${MAX_PART_BYTES} bytes` : undefined;
};

/**
 * The reason why a text cannot be the path of an upload: at most 32 such segments, joined by slashes, and 800 bytes.
 * `undefined` when it can.
 */
export const uploadPathProblem = (path: string): string | undefined => {
  const parts = path.split('/');
  if (parts.length > MAX_PARTS) return `a path has at most ${MAX_PARTS} parts`;
  const problem = parts.map(segmentProblem).find((each) => each !== undefined);
  if (problem !== undefined) return problem;
  return utf8.encode(path).length > MAX_PATH_BYTES ? `a path has at most ${MAX_PATH_BYTES} bytes` : undefined;
};

/**
 * Path of an upload below the root of its store. Uploads of organisations are under a separate folder, so that no two
 * keys have the same path.
 */
export const uploadPath = ({ org, project, domain, path }: UploadKey): string =>
  [...(org === '' ? ['uploads'] : ['orgs', org]), project, domain, path].join('/');

const keyOfSegments = ([org = '', project = '', domain = '', ...path]: readonly string[]): UploadKey => ({
  org,
  project,
  domain,
  path: path.join('/'),
});

/** The key of the upload at a path; `undefined` when no upload can be there. */
export const uploadAt = (path: string): UploadKey | undefined => {
  const [area, ...rest] = path.split('/');
  if (area !== 'uploads' && area !== 'orgs') return undefined;
  const key = keyOfSegments(area === 'orgs' ? rest : ['', ...rest]);
  const named = [...(area === 'orgs' ? [key.org] : []), key.project, key.domain];
  return [...named.map(segmentProblem), uploadPathProblem(key.path)].some((each) => each !== undefined)
    ? undefined
    : key;
};
