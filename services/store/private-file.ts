import { closeSync, openSync } from 'node:fs';

const OWNER_ONLY = 0o600;

/**
 * Creates a file that its owner alone can read, if it is missing. SQLite gives its write-ahead log the permissions of
 * the file.
 */
export const createPrivately = (path: string): void => closeSync(openSync(path, 'a', OWNER_ONLY));
