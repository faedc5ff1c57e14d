import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errors, jwtVerify, SignJWT } from 'jose';
import { DataDirectoryUnusable } from '../../kernel/fault.js';

/** Claims of a link: the operation and the file that it permits. */
export type LinkClaims = {
  readonly does: 'put' | 'get';
  /** Path of the file below the root of the store. */
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
const KEY_BYTES = 32;
const OWNER_ONLY = 0o600;

const read = (file: string): Uint8Array | undefined => {
  try {
    return Buffer.from(readFileSync(file, 'utf8'), 'base64');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

const write = (file: string, key: Uint8Array): void => {
  const handle = openSync(file, 'wx', OWNER_ONLY);
  try {
    writeSync(handle, Buffer.from(key).toString('base64'));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

/**
 * Creates the key file atomically and never replaces an existing one: processes that share a directory may all create
 * it at once.
 */
const make = (file: string): void => {
  const own = `${file}.${randomBytes(6).toString('hex')}`;
  write(own, randomBytes(KEY_BYTES));
  try {
    linkSync(own, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(own, { force: true });
  }
};

/**
 * The key that links are signed with, `link.key` in the data directory; created if missing. If it is lost, existing
 * links become invalid; nothing else is affected.
 *
 * @throws {DataDirectoryUnusable} when it cannot be read or written, or is not a key.
 */
export const linkKey = (directory: string): Uint8Array => {
  const file = join(directory, 'link.key');
  try {
    if (read(file) === undefined) make(file);
    const key = read(file);
    if (key?.length !== KEY_BYTES) throw new Error('it is not 32 bytes in base64; remove it, and a new one is made');
    return key;
  } catch (error) {
    throw new DataDirectoryUnusable(
      `${file} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  }
};

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
