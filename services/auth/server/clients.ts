import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ClientMetadata } from 'oidc-provider';
import * as z from 'zod';
import { type RecordsFile, recordsFile } from '../users/records-file.js';

const SECRET_BYTES = 32;

/**
 * The hash under which a secret is stored. Those of {@link newSecret} have 256 random bits, which cannot be guessed, so
 * that they need no slow hash; those of the configuration are hashed only in memory.
 */
export const hashSecret = (secret: string): string =>
  `sha256:${createHash('sha256').update(secret).digest('base64url')}`;

/** Makes a secret; it is shown once, and only its hash is kept. */
export const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

/** True when the secret is the one that was hashed. */
export const isSecret = (secret: string, hash: string): boolean => {
  const [actual, expected] = [Buffer.from(hashSecret(secret)), Buffer.from(hash)];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
};

/** True when the client has a secret and this is the one. */
export const isSecretOf = (found: Pick<Client, 'secret_hash'> | undefined, secret: string): boolean =>
  found?.secret_hash !== undefined && isSecret(secret, found.secret_hash);

/** One client in the clients file; one without a secret is public, as a command line is. */
export const client = z.strictObject({
  secret_hash: z
    .string()
    .regex(/^sha256:[\w-]{43}$/u)
    .optional(),
  /**
   * Addresses to which authorization codes may be sent. If all have a loopback host and `http`, any port is allowed in
   * them; otherwise an address must match exactly.
   */
  redirect_uris: z.array(z.string()).default([]),
  /** Roles, in every project and domain, of a client that acts for itself. */
  roles: z.array(z.string().min(1)).default([]),
});

/** A program that gets tokens: for itself with its secret, or for a person that signs in. */
export type Client = z.output<typeof client>;

/** Opens the clients file at a path; it may be missing. */
export const clientsFile = (path: string): RecordsFile<Client> => recordsFile(path, 'clients', client);

const LOOPBACK = ['http://localhost/callback', 'http://127.0.0.1/callback', 'http://[::1]/callback'];

const PUBLIC: Client = { redirect_uris: LOOPBACK, roles: [] };

/** The command lines and SDKs in the field. They have no secret, so every program can use these ids. */
export const PUBLIC_CLIENTS: Readonly<Record<string, Client>> = {
  flytectl: PUBLIC,
  'flyte-cli': PUBLIC,
  flightlog: PUBLIC,
};

/**
 * Clients by their ids: the built-in public ones, those of the configuration, and those of the file.
 *
 * @throws {StoreUnavailable} from `find`, when the clients file must be read and cannot be.
 */
export interface Clients {
  find(id: string): Promise<Client | undefined>;
}

/**
 * Clients of the configuration win over those of the file, and the file wins over the public ones that are built in.
 */
export const clientsOf = (file: RecordsFile<Client>, configured: ReadonlyMap<string, Client>): Clients => ({
  find: async (id) => configured.get(id) ?? (await file.read()).get(id) ?? builtIn(id),
});

const builtIn = (id: string): Client | undefined =>
  Object.hasOwn(PUBLIC_CLIENTS, id) ? PUBLIC_CLIENTS[id] : undefined;

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

const grantTypesOf = ({ secret_hash: hash, redirect_uris: uris }: Client): string[] => [
  ...(hash === undefined ? [DEVICE_CODE] : ['client_credentials']),
  ...(uris.length > 0 ? ['authorization_code'] : []),
  ...(uris.length > 0 || hash === undefined ? ['refresh_token'] : []),
];

const isLoopback = (uri: string): boolean => /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/]/u.test(uri);

/** A client in the terms of OpenID Connect Dynamic Client Registration. The secret is its hash; see `isSecret`. */
export const clientMetadataOf = (id: string, found: Client): ClientMetadata => {
  const { secret_hash: hash, redirect_uris: uris } = found;
  return {
    client_id: id,
    client_name: id,
    ...(hash !== undefined && { client_secret: hash }),
    token_endpoint_auth_method: hash === undefined ? 'none' : 'client_secret_basic',
    application_type: uris.every(isLoopback) ? 'native' : 'web',
    grant_types: grantTypesOf(found),
    response_types: uris.length > 0 ? ['code'] : [],
    redirect_uris: [...uris],
  };
};
