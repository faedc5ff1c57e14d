import { webcrypto } from 'node:crypto';
import { CorruptPayload } from '../../kernel/fault.js';

/** SHA-256 in hexadecimal, computed on the thread pool: hashing some megabytes would block the caller's thread. */
export const contentHash = async (bytes: Uint8Array): Promise<string> =>
  Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex');

/**
 * Returns the bytes when they match the hash.
 *
 * @throws {CorruptPayload} when they do not.
 */
export const verifiedBytes = async (path: string, sha256: string, bytes: Uint8Array): Promise<Uint8Array> => {
  if ((await contentHash(bytes)) !== sha256) throw new CorruptPayload(`payload ${path} is not what its name says`);
  return bytes;
};
