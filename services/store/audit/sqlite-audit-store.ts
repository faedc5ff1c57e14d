import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { AuditStore } from '../../kernel/ports/audit-trail.js';
import { callsTo } from '../thread-calls.js';

/**
 * Opens the audit entries in the file `audit.db` of a data directory, which is read and written on a thread of its own.
 * Other processes of this machine may have it open as well.
 *
 * @throws {StoreUnavailable} from every method, when the file cannot be read or written, or after `close`.
 */
export const sqliteAuditStore = (directory: string): AuditStore => {
  const worker = new Worker(new URL('./audit-thread.js', import.meta.url), { workerData: directory });
  const { call, close } = callsTo<AuditStore>(worker, `audit store ${join(directory, 'audit.db')}`);
  return { write: call('write'), list: call('list'), removeBefore: call('removeBefore'), close };
};
