import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { StoreUnavailable } from '../../kernel/fault.js';
import {
  type LinkedFiles,
  type LinkRefusal,
  type OpenFile,
  type PutClaims,
  uploadAt,
  type UploadKey,
  uploadPath,
  type UploadStore,
} from '../../kernel/ports/uploads.js';
import { type DurableFiles, durableFiles } from '../durable-files.js';
import { failPoint } from '../fail-point.js';
import { fileErrorCode } from '../file-error.js';
import { fileLinks, type LinkClaims, linkKey } from './file-links.js';
import { errorText } from '../../kernel/error-text.js';

/** Settings of the upload store. */
export type FileUploads = {
  readonly directory: string;
  /** Maximum size of a file in bytes. */
  readonly maxBytes: number;
  /** Address at which clients reach this server, without a slash at its end. */
  readonly publicUrl: () => string;
  readonly now: () => number;
};

/** The content of an upload was rejected. */
class Unfit extends Error {
  readonly reason: LinkRefusal;

  constructor(reason: LinkRefusal) {
    super(reason);
    this.reason = reason;
  }
}

const NOT_A_FILE = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);
const IN_THE_WAY = new Set(['ENOTDIR', 'EISDIR', 'EEXIST']);

const unavailable = (path: string, error: unknown): StoreUnavailable =>
  new StoreUnavailable(`upload ${path}: ${errorText(error)}`, error);

/**
 * Runs an operation on a file.
 *
 * @returns `undefined` when the file does not exist.
 * @throws {StoreUnavailable} for all other errors.
 */
const ifThere = async <Result>(path: string, work: () => Promise<Result>): Promise<Result | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (NOT_A_FILE.has(fileErrorCode(error))) return undefined;
    throw unavailable(path, error);
  }
};

/** Converts errors of the request body, so that a client that disconnects is not taken for a disk failure. */
const whole = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    throw new Unfit('content-cut-off');
  }
};

/**
 * Passes bytes on and hashes them.
 *
 * @throws {Unfit} when the body is cut off or has more than `maxBytes`, or `fits` rejects its MD5 in base64.
 */
const checked = async function* (
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  fits: (md5: string) => boolean,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('md5');
  let size = 0;
  for await (const chunk of whole(body)) {
    size += chunk.length;
    if (size > maxBytes) throw new Unfit('content-too-large');
    hash.update(chunk);
    yield chunk;
  }
  if (!fits(hash.digest('base64'))) throw new Unfit('content-differs');
};

const md5Of = async (path: string): Promise<string> => {
  const hash = createHash('md5');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest('base64');
};

/** @throws {StoreUnavailable} when the file cannot be read. */
const storedMd5 = async (path: string): Promise<string> => {
  try {
    return await md5Of(path);
  } catch (error) {
    throw unavailable(path, error);
  }
};

/** Stores a file that must match every given MD5. If the file exists with the same content, it counts as stored. */
const storing =
  (files: DurableFiles, maxBytes: number) =>
  async (file: string, body: AsyncIterable<Uint8Array>, wanted: readonly (string | undefined)[]): Promise<void> => {
    let md5 = '';
    const fits = (found: string): boolean => {
      md5 = found;
      return wanted.every((each) => each === undefined || each === found);
    };
    if (await files.create(file, checked(body, maxBytes, fits))) return;
    if ((await md5Of(file)) !== md5) throw new Unfit('upload-exists');
  };

const openFile = async (path: string): Promise<OpenFile> => {
  const { size: sizeBytes } = await stat(path);
  const content = (await open(path, 'r')).createReadStream();
  return { name: basename(path), sizeBytes, content, close: () => void content.destroy() };
};

const SCHEME = 'file://';
const FOLDER = '/files/';

/**
 * Finds the key by the path below `files/`, so that the URL of a file stays valid when its data directory is moved or
 * restored elsewhere.
 */
const keyOfFile = (nativeUrl: string): UploadKey | undefined => {
  if (!nativeUrl.startsWith(SCHEME)) return undefined;
  for (let at = nativeUrl.indexOf(FOLDER); at >= 0; at = nativeUrl.indexOf(FOLDER, at + 1)) {
    const key = uploadAt(nativeUrl.slice(at + FOLDER.length));
    if (key) return key;
  }
  return undefined;
};

/**
 * Keeps uploads as files, `files/…` below the data directory, and serves the links to them itself. Existing files are
 * never changed.
 *
 * @throws {DataDirectoryUnusable} when the key to sign links with cannot be read or created, or is not a key.
 */
export const fileUploadStore = ({ directory, maxBytes, publicUrl, now }: FileUploads): UploadStore & LinkedFiles => {
  const root = join(resolve(directory), 'files');
  const base = `file://${root}/`;
  const store = storing(durableFiles(root), maxBytes);
  const links = fileLinks({ key: linkKey(directory), publicUrl, now });
  const fileOf = (key: UploadKey): string => join(root, uploadPath(key));

  const put = async (
    link: URL,
    body: AsyncIterable<Uint8Array>,
    stated: PutClaims,
  ): Promise<LinkRefusal | undefined> => {
    const claims = await links.read(link, 'put');
    if (!claims) return 'link-invalid';
    if ((stated.sizeBytes ?? 0) > maxBytes) return 'content-too-large';
    const file = fileOf(claims.key);
    try {
      await store(file, body, [claims.md5, stated.md5]);
    } catch (error) {
      if (error instanceof Unfit) return error.reason;
      if (IN_THE_WAY.has(fileErrorCode(error))) return 'upload-exists';
      throw unavailable(file, error);
    }
    failPoint('after-upload');
    return undefined;
  };

  return {
    nativeUrl: (key) => `${base}${uploadPath(key)}`,
    keyOf: keyOfFile,
    find: (key) =>
      ifThere(fileOf(key), async () => {
        if (!(await stat(fileOf(key))).isFile()) return undefined;
        return {
          isTooLarge: false,
          hasMd5: async (md5) => (await storedMd5(fileOf(key))) === Buffer.from(md5).toString('base64'),
        };
      }),
    linkToPut: async (key, { md5, expiresInSeconds }) => {
      const base64 = md5 && Buffer.from(md5).toString('base64');
      const claims: LinkClaims = { does: 'put', place: uploadPath(key), ...(base64 !== undefined && { md5: base64 }) };
      const url = await links.make(claims, expiresInSeconds);
      return { url, headers: base64 === undefined ? {} : { 'Content-MD5': base64 } };
    },
    linkToGet: (key, expiresInSeconds) => links.make({ does: 'get', place: uploadPath(key) }, expiresInSeconds),
    put,
    get: async (link) => {
      const claims = await links.read(link, 'get');
      if (!claims) return 'link-invalid';
      const file = fileOf(claims.key);
      return (await ifThere(file, () => openFile(file))) ?? 'upload-unknown';
    },
  };
};
