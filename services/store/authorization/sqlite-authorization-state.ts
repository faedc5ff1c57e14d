import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { AuthorizationState } from '../../kernel/ports/authorization-state.js';
import { callsTo } from '../thread-calls.js';

/** The name of the file in the data directory. */
export const STATE_FILE = 'authorization.db';

/**
 * Opens the state of the authorization server in the file `authorization.db` of a data directory; the file is read and
 * written on a thread of its own. Other processes of this machine may have it open as well.
 *
 * @throws {StoreUnavailable} from every method, when the file cannot be read or written, or after `close`.
 */
export const sqliteAuthorizationState = (directory: string): AuthorizationState => {
  const path = join(directory, STATE_FILE);
  const worker = new Worker(new URL('./state-thread.js', import.meta.url), { workerData: path });
  const { call, close } = callsTo<AuthorizationState>(worker, `authorization state ${path}`);
  return {
    put: call('put'),
    find: call('find'),
    findByAlias: call('findByAlias'),
    consume: call('consume'),
    remove: call('remove'),
    removeGrant: call('removeGrant'),
    removeAccount: call('removeAccount'),
    removeExpired: call('removeExpired'),
    keys: call('keys'),
    addKey: call('addKey'),
    removeKeys: call('removeKeys'),
    close,
  };
};
