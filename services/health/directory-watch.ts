import { join } from 'node:path';
import type { Logger } from 'pino';
import { VIEWS_FILE } from '../../projections/store/sqlite/sqlite-read-store.js';
import type { Check } from '../gateway/readiness.js';
import { firstChanged, pathIdentity } from '../store/path-identity.js';

const CHECK_EVERY_MS = 1_000;

/** Files and folders of the data directory that a process may use; each is watched from when it is first seen. */
const USED: readonly string[] = ['log.db', 'log.db-wal', 'payloads', 'files', VIEWS_FILE];

/** Watches the data directory of a process. */
export type DirectoryWatch = {
  readonly check: () => Check;
  /** Says in words what has changed; `undefined` while nothing has. */
  readonly changed: () => string | undefined;
  readonly close: () => void;
};

/**
 * Watches whether the data directory and the files used in it are still the same. A file that was removed can still be
 * read and written through its open handle, and all of that is lost in the end. A change is logged as an error once.
 */
export const watchDirectory = (directory: string, logger: Logger): DirectoryWatch => {
  const identities = [directory, ...USED.map((name) => join(directory, name))].map(pathIdentity);
  let logged: string | undefined;
  const changed = (): string | undefined => {
    const change = firstChanged(identities);
    if (change !== undefined && change !== logged) {
      logger.error(
        `data: ${change} while this process uses it: it is not ready, and writes may be refused or lost; put it back, or stop and restore it`,
      );
    }
    logged = change;
    return change;
  };
  const timer = setInterval(changed, CHECK_EVERY_MS);
  timer.unref();
  return {
    check: () => {
      const change = changed();
      return change === undefined ? { name: 'data', state: 'well' } : { name: 'data', state: 'down', why: change };
    },
    changed,
    close: () => clearInterval(timer),
  };
};
