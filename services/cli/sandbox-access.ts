import { hashPassword } from '../auth/users/password-hash.js';
import { newSecret } from '../auth/server/clients.js';
import { usersFile } from '../auth/users/users.js';
import type { Configuration } from '../config/configuration.js';
import { recordPaths } from '../main/authorization-server.js';

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

const newAccess = (): SandboxAccess => ({
  user: { id: 'admin', secret: newSecret().slice(0, PASSWORD_CHARACTERS) },
  engine: { id: 'sandbox-engine', secret: newSecret() },
  samples: { id: 'sandbox', secret: newSecret() },
});

/** Switches authentication on, with a user and clients of this run. The user is in the users file, as a hash. */
export const withAccess = async (
  given: Configuration,
): Promise<{ readonly configuration: Configuration; readonly access: SandboxAccess }> => {
  const access = newAccess();
  const password = await hashPassword(access.user.secret);
  const users = usersFile(recordPaths(given).users);
  await users.change((before) => new Map(before).set(access.user.id, { password, roles: ['administrator'] }));
  const clients = [
    ...given.auth.server.clients,
    { ...access.engine, redirect_uris: [], roles: ['engine' as const] },
    { ...access.samples, redirect_uris: [], roles: ['contributor' as const] },
  ];
  const server = { ...given.auth.server, enabled: true, clients };
  return { configuration: { ...given, insecure: false, auth: { ...given.auth, server } }, access };
};
