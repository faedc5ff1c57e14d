import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DataDirectoryUnusable } from '../kernel/fault.js';
import { errorText } from '../kernel/error-text.js';
import { fileErrorCode } from './file-error.js';

const KEY_BYTES = 32;
const OWNER_ONLY = 0o600;

const read = (file: string): Uint8Array | undefined => {
  try {
    return Buffer.from(readFileSync(file, 'utf8'), 'base64');
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return undefined;
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
  const temporaryFile = `${file}.${randomBytes(6).toString('hex')}`;
  write(temporaryFile, randomBytes(KEY_BYTES));
  try {
    linkSync(temporaryFile, file);
  } catch (error) {
    if (fileErrorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(temporaryFile, { force: true });
  }
};

/**
 * The key of 32 random bytes in a file of the data directory; created if missing, readable by its owner alone.
 *
 * @throws {DataDirectoryUnusable} when it cannot be read or written, or is not a key.
 */
export const keyFile = (directory: string, name: string): Uint8Array => {
  const file = join(directory, name);
  try {
    if (read(file) === undefined) make(file);
    const key = read(file);
    if (key?.length !== KEY_BYTES) throw new Error('it is not 32 bytes in base64; remove it, and a new one is made');
    return key;
  } catch (error) {
    throw new DataDirectoryUnusable(`${file} cannot be used: ${errorText(error)}`, error);
  }
};
