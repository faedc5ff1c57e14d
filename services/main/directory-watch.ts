import { join } from 'node:path';
import type { Logger } from 'pino';
import { VIEWS_FILE } from '../../projections/store/sqlite/sqlite-read-store.js';
import type { Check } from '../gateway/readiness.js';
import { firstChanged, pathIdentity } from '../store/path-identity.js';

const LOOK_EVERY_MS = 1_000;

/** What a process uses in its data directory, where it is there. */
const USED: readonly string[] = ['log.db', 'log.db-wal', 'payloads', 'files', VIEWS_FILE];

/** Watches the data directory of a process. */
export type DirectoryWatch = {
  readonly check: () => Check;
  /** What has become of it, in words; `undefined` while it is what it was. */
  readonly changed: () => string | undefined;
  readonly close: () => void;
};

/**
 * Watches whether the data directory, and what the process uses in it, is still what it was: open files can be read and
 * written after they were removed, and nothing of it is kept. Says at once, as an error, that it is not.
 */
export const watchDirectory = (directory: string, logger: Logger): DirectoryWatch => {
  const identities = [directory, ...USED.map((name) => join(directory, name))].map(pathIdentity);
  let said: string | undefined;
  const changed = (): string | undefined => {
    const what = firstChanged(identities);
    if (what !== undefined && what !== said) {
      logger.error(`data: ${what} while this process uses it: writes are refused; put it back, or stop and restore it`);
    }
    said = what;
    return what;
  };
  const timer = setInterval(changed, LOOK_EVERY_MS);
  timer.unref();
  return {
    check: () => {
      const why = changed();
      return why === undefined ? { name: 'data', state: 'well' } : { name: 'data', state: 'down', why };
    },
    changed,
    close: () => clearInterval(timer),
  };
};
