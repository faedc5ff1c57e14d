import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { AuthorizationServer } from '../../auth/server/authorization-server.js';
import { type Client, type Clients, clientsFile, clientsOf, hashSecret } from '../../auth/server/clients.js';
import { type Users, usersFile, usersOf } from '../../auth/users/users.js';
import type { UpstreamProvider } from '../../auth/server/upstream.js';
import type { OnAttempt } from '../../auth/server/sign-in-attempt.js';
import type { AuthorizationState } from '../../kernel/ports/authorization-state.js';
import type { AuditTrail } from '../../kernel/ports/audit-trail.js';
import type { Configuration } from '../../config/configuration.js';
import { OperatorError, forSetting } from '../../config/operator-errors.js';
import { failPoint } from '../../store/fail-point.js';
import { sqliteAuthorizationState } from '../../store/authorization/sqlite-authorization-state.js';

type Settings = Pick<Configuration, 'data' | 'auth'>;

type PrincipalPaths = { readonly users: string; readonly clients: string };

/** The paths of the users file and the clients file. */
export const principalPaths = ({ data, auth: { server } }: Settings): PrincipalPaths => ({
  users: resolve(server.users_file === '' ? join(data, 'users.json') : server.users_file),
  clients: resolve(server.clients_file === '' ? join(data, 'clients.json') : server.clients_file),
});

const configuredClients = ({ auth: { server } }: Settings): ReadonlyMap<string, Client> =>
  new Map(
    server.clients.map(({ id, secret, redirect_uris, roles }) => [
      id,
      { redirect_uris, roles, ...(secret !== undefined && { secret_hash: hashSecret(secret) }) },
    ]),
  );

type AuthorizationSettings = Settings & Pick<Configuration, 'insecure'>;

const isEnabled = ({ insecure, auth }: AuthorizationSettings): boolean => auth.server.enabled && !insecure;

const usersIn = (settings: Settings): Users => usersOf(usersFile(principalPaths(settings).users));

/** The users of the users file; the clients of the clients file and the configuration, and those that are built in. */
export const knownPrincipals = (settings: Settings): { readonly users: Users; readonly clients: Clients } => ({
  users: usersIn(settings),
  clients: clientsOf(clientsFile(principalPaths(settings).clients), configuredClients(settings)),
});

/**
 * Refuses to serve when tokens are issued here, and the users file or the clients file cannot be read.
 *
 * @throws {OperatorError} naming the setting and the file.
 */
export const assertPrincipalFiles = async (settings: AuthorizationSettings): Promise<void> => {
  if (!isEnabled(settings)) return;
  const { users, clients } = principalPaths(settings);
  await forSetting('auth.server.users_file', () => usersFile(users).read());
  await forSetting('auth.server.clients_file', () => clientsFile(clients).read());
};

/**
 * Refuses to serve when tokens are issued here, and there is neither a user nor an upstream provider.
 *
 * @throws {OperatorError} with the command that makes the first administrator; or naming the setting, when the users
 * file cannot be read.
 */
export const assertAnyUser = async (settings: AuthorizationSettings): Promise<void> => {
  if (!isEnabled(settings) || settings.auth.server.upstream.issuer !== '') return;
  const count = await forSetting('auth.server.users_file', () => usersIn(settings).count());
  if (count > 0) return;
  const { users } = principalPaths(settings);
  const alsoNeeded = settings.auth.server.users_file === '' ? '' : ', and the same auth.server.users_file';
  throw new OperatorError(
    `no person can sign in: ${users} has no users; make the first administrator with: flightlog user add NAME --roles administrator --data ${settings.data}${alsoNeeded}`,
  );
};

/**
 * Refuses to serve when a configured client that gets tokens for itself has the name of a user: the name is the subject
 * of the tokens of both, so each would have the permissions of the other.
 *
 * @throws {OperatorError} naming the client and both settings; or one setting, when the users file cannot be read.
 */
export const assertDistinctNames = async (settings: AuthorizationSettings): Promise<void> => {
  const { clients } = settings.auth.server;
  if (!isEnabled(settings) || clients.length === 0) return;
  const users = await forSetting('auth.server.users_file', () => usersFile(principalPaths(settings).users).read());
  const taken = clients.find(({ id, secret }) => secret !== undefined && users.has(id));
  if (taken === undefined) return;
  throw new OperatorError(
    `auth.server.clients: client ${taken.id} has the name of a user in auth.server.users_file ` +
      `(${principalPaths(settings).users}), so each would have the permissions of the other: rename one of them`,
  );
};

/** Makes the function that records attempts to sign in in the audit trail. */
export const attemptRecorder =
  (trail: AuditTrail | undefined, issuer: () => string): OnAttempt =>
  (attempt) => {
    const now = Date.now();
    trail?.record({
      ...{ kind: 'sign-in', atMs: now, lastAtMs: now, count: 1, ...attempt, issuer: issuer(), transport: 'rest' },
      ...{ project: '', domain: '', name: '', reason: '', requestId: '', position: undefined },
    });
  };

/**
 * Opens the state in the data directory, or in a database that processes of several machines share.
 *
 * @throws {OperatorError} naming the setting, when the database cannot be used.
 */
export const openState = async ({ data, auth: { server } }: Settings): Promise<AuthorizationState> => {
  const { state_store: location } = server;
  if (location.kind === 'sqlite') return sqliteAuthorizationState(resolve(data));
  const { mongoAuthorizationState } = await import('../../../projections/store/mongo/mongo-authorization-state.js');
  return forSetting('auth.server.state_store', () =>
    mongoAuthorizationState(location, { afterConsume: () => failPoint('after-consume') }),
  );
};

/** The upstream provider that signs people in; `undefined` when none is configured. */
const upstreamOf = async ({ auth: { server } }: Settings): Promise<UpstreamProvider | undefined> => {
  const { issuer, client_id: clientId, client_secret: clientSecret, scopes, id, name, ...claims } = server.upstream;
  if (issuer === '') return undefined;
  const { externalIssuer } = await import('../../auth/browser/issuer-client.js');
  const scope = scopes.join(' ');
  const client = externalIssuer({ issuer, clientId, clientSecret, scope, audience: '' }, Date.now);
  return {
    id,
    name: name === '' ? new URL(issuer).host : name,
    scope,
    subjectClaim: claims.subject_claim,
    groupsClaim: claims.groups_claim,
    configuration: () => client.configuration(''), // only an issuer in this process limits requests by the address of the browser
  };
};

/** Opens the authorization server, if it is enabled. It serves once it knows the address that is listened on. */
export const openAuthorizationServer = async (
  settings: AuthorizationSettings,
  logger: Logger,
  trail?: AuditTrail,
): Promise<AuthorizationServer | undefined> => {
  if (!isEnabled(settings)) return undefined;
  // Imported only here, because loading it is slow.
  const { authorizationServer } = await import('../../auth/server/authorization-server.js');
  const { server, behind_tls: isBehindProxy } = settings.auth;
  const opened: AuthorizationServer = authorizationServer({
    issuer: server.issuer,
    state: await openState(settings),
    upstream: await upstreamOf(settings),
    ...knownPrincipals(settings),
    lifetimes: {
      accessSeconds: Math.floor(server.access_token_ttl / 1_000),
      refreshSeconds: Math.floor(server.refresh_token_ttl / 1_000),
    },
    rotateKeysAfterMs: server.key_rotation,
    failuresPerMinute: server.failures_per_minute,
    isBehindProxy,
    onError: (error) => logger.error({ err: error }, 'authorization server'),
    onAttempt: attemptRecorder(trail, () => opened.issuer),
  });
  return opened;
};
