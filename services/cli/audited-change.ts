import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { auditDatabase } from '../store/audit/audit-database.js';

/** The account of this machine; a container may run as a number that has no name. */
const accountName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};

/**
 * Records a change of users or clients in the audit of the data directory, where a server may run. The principal is the
 * account of this machine, the address its name. Without a data directory it prints that nothing was recorded.
 *
 * @param action the command, such as `flightlog user add`.
 * @param name the user or client.
 * @throws {Error} of SQLite when the entry cannot be stored; the change has been made.
 */
export const recordChange = ({ data }: { readonly data: string }, action: string, name: string): void => {
  const directory = resolve(data);
  if (!existsSync(directory)) {
    process.stderr.write(`not recorded in the audit: there is no data directory ${directory}\n`);
    return;
  }
  const database = auditDatabase(directory);
  const now = Date.now();
  try {
    database.write([
      {
        ...{ kind: 'call', atMs: now, lastAtMs: now, count: 1, action, name, code: 'OK' },
        ...{ principal: accountName(), transport: 'command-line', address: hostname() },
        ...{ issuer: '', clientId: '', project: '', domain: '', reason: '', requestId: '', position: undefined },
      },
    ]);
  } finally {
    database.close();
  }
};
