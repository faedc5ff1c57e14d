import { resolve } from 'node:path';
import { hashPassword } from '../../auth/users/password-hash.js';
import { newSecret } from '../../auth/server/clients.js';
import type { RecordsFile } from '../../auth/users/records-file.js';
import { type User, usersFile } from '../../auth/users/users.js';
import type { Configuration } from '../../config/configuration.js';
import { OperatorError, forSetting } from '../../config/operator-errors.js';
import { principalPaths } from '../../main/access/authorization-server.js';
import { lockDataDirectory } from '../../store/data-directory.js';

/** A name and its password or secret. */
type Credentials = { readonly id: string; readonly secret: string };

/** Credentials of one run of the sandbox with authentication; the next run makes others. */
export type SandboxAccess = {
  /** The person, an administrator. */
  readonly user: Credentials;
  /** The client of the simulated engine. */
  readonly engine: Credentials;
  /** The client that registers the samples, for commands too. */
  readonly samples: Credentials;
};

const PASSWORD_CHARACTERS = 16;

/** Marks users of the sandbox in the users file; no other user is replaced. */
const SANDBOX_USER = 'Administrator of the sandbox';

const IDS = ['admin', 'sandbox-admin'];

const isFree = (found: User | undefined): boolean => found === undefined || found.name === SANDBOX_USER;

/** Writes the user of this run into the users file, with a hash of the password, in place of that of the last run. */
const writeUser = async (file: RecordsFile<User>, secret: string): Promise<Credentials> => {
  const record: User = { password: await hashPassword(secret), roles: ['administrator'], name: SANDBOX_USER };
  let id: string | undefined;
  await file.change((before) => {
    id = IDS.find((each) => isFree(before.get(each)));
    return id === undefined ? before : new Map(before).set(id, record);
  });
  if (id !== undefined) return { id, secret };
  throw new OperatorError(
    `the users file has users ${IDS.join(' and ')}: start with another one, as with --data, or use flightlog serve`,
  );
};

const newAccess = async (file: RecordsFile<User>): Promise<SandboxAccess> => ({
  user: await writeUser(file, newSecret().slice(0, PASSWORD_CHARACTERS)),
  engine: { id: 'sandbox-engine', secret: newSecret() },
  samples: { id: 'sandbox', secret: newSecret() },
});

/**
 * Switches authentication on, with a user and clients of this run. A server that runs on the data directory keeps its
 * users.
 *
 * @throws {OperatorError} when the users file has other people of both names that the sandbox could use, or the data
 *   directory is in use or cannot be used.
 */
export const withAccess = async (
  given: Configuration,
): Promise<{ readonly configuration: Configuration; readonly access: SandboxAccess }> => {
  const lock = await forSetting('data', () => lockDataDirectory(resolve(given.data)));
  const access = await newAccess(usersFile(principalPaths(given).users)).finally(() => lock.release());
  const clients = [
    ...given.auth.server.clients,
    { ...access.engine, redirect_uris: [], roles: ['engine' as const] },
    { ...access.samples, redirect_uris: [], roles: ['contributor' as const] },
  ];
  const server = { ...given.auth.server, enabled: true, clients };
  return { configuration: { ...given, insecure: false, auth: { ...given.auth, server } }, access };
};
