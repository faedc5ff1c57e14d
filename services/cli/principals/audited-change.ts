import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../config/operator-errors.js';
import { errorText } from '../../kernel/error-text.js';
import type { AuditEntry } from '../../kernel/ports/audit-trail.js';
import { openAuditStore } from '../../main/access/audit.js';
import type { ReadStoreSource } from '../../main/views/read-stores.js';

/** The account of this machine; a container may run as a number that has no name. */
const accountName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};

const entryOf = (action: string, name: string, now: number): AuditEntry => ({
  ...{ kind: 'call', atMs: now, lastAtMs: now, count: 1, action, name, code: 'OK' },
  ...{ principal: accountName(), transport: 'command-line', address: hostname() },
  ...{ issuer: '', clientId: '', project: '', domain: '', reason: '', requestId: '', position: undefined },
});

const store = async (source: ReadStoreSource, entry: AuditEntry): Promise<void> => {
  const entries = await openAuditStore(source);
  try {
    await entries.write([entry]);
  } finally {
    await entries.close();
  }
};

/**
 * Records a change of users or clients in the audit, beside the views: in the database, or in the data directory, where
 * a server may run. The principal is the account of this machine, the address its name. Where that data directory is
 * missing, it prints that nothing was recorded.
 *
 * @param action the command, such as `flightlog user add`.
 * @param name the user or client.
 * @throws {OperatorError} when the entry cannot be stored; it says that the change has been made.
 */
export const recordChange = async (
  { data, read_store: views }: Pick<Configuration, 'data' | 'read_store'>,
  action: string,
  name: string,
): Promise<void> => {
  const directory = resolve(data);
  if (views.kind === 'sqlite' && !existsSync(directory)) {
    process.stderr.write(`not recorded in the audit: there is no data directory ${directory}\n`);
    return;
  }
  try {
    await store({ directory, views }, entryOf(action, name, Date.now()));
  } catch (cause) {
    throw new OperatorError(`the change is made, but not recorded in the audit: ${errorText(cause)}`, { cause });
  }
};
