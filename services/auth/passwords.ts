import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Access } from '../kernel/access.js';
import { lru } from '../kernel/lru.js';
import type { Caller, Credentials, Identity, PasswordAuthentication } from '../kernel/ports/authentication.js';
import { RpcError } from '../kernel/rpc.js';
import { type Client, type Clients, isSecretOf } from './server/clients.js';
import { checkLimited, type SignInLimits } from './server/sign-in-limits.js';
import { unauthenticated } from './tokens/refusal.js';
import type { User, Users } from './users/users.js';

type Options = {
  readonly users: Users;
  readonly clients: Clients;
  readonly limits: SignInLimits;
  /** The issuer whose tokens have the same subjects. */
  readonly issuer: () => string;
  readonly accessOf: (identity: Identity) => Access;
  /** The number of verified credentials that are remembered. */
  readonly cached: number;
};

/** The record of a name. A password that was verified counts for as long as the record is the same. */
type Found = User | Client | undefined;

type Verified = { readonly record: Found; readonly caller: Caller };

const MS = 1_000;

const isClient = (record: Found): record is Client => record !== undefined && 'secret_hash' in record;

const rolesOf = (record: Found): readonly string[] => record?.roles ?? [];

/**
 * Verifies credentials once and remembers them by their hash for as long as the record of their name is the same: a
 * password costs a fifth of a second to verify, and official clients send it with each call.
 */
export const passwordAuthentication = (options: Options): PasswordAuthentication => {
  const { users, clients, limits, issuer, accessOf } = options;
  const verified = lru<string, Verified>(options.cached);
  const verifying = new Map<string, Promise<Caller>>();

  const recordOf = async (name: string): Promise<Found> => (await users.find(name)) ?? (await clients.find(name));

  const identityOf = (name: string, record: Found): Identity => ({
    principal: name,
    issuer: issuer(),
    clientId: isClient(record) ? name : '',
    scopes: [],
    claims: { sub: name, roles: rolesOf(record) },
    expiresAt: undefined,
  });

  /** Verifies a password within the limits, which are there for guesses. */
  const assertRight = async (credentials: Credentials): Promise<void> => {
    const { name, password } = credentials;
    const checked = await checkLimited(limits, credentials, () => users.check(name, password));
    if ('wait' in checked)
      throw new RpcError(
        'RESOURCE_EXHAUSTED',
        `too many attempts, wait ${checked.wait} seconds`,
        [],
        checked.wait * MS,
      );
    if (!checked.isRight) throw unauthenticated('the user name or the password is wrong');
  };

  const verify = async (credentials: Credentials, key: string): Promise<Caller> => {
    const { name, password } = credentials;
    const record = await recordOf(name);
    // A right secret is never held back: it cannot be guessed, and others may have used up the attempts of its name.
    if (!isClient(record) || !isSecretOf(record, password)) await assertRight(credentials);
    const identity = identityOf(name, record);
    const caller = { identity, access: accessOf(identity) };
    verified.set(key, { record, caller });
    return caller;
  };

  return {
    callerOf: async (credentials) => {
      const { name, password } = credentials;
      const key = hash('sha256', JSON.stringify([name, password]), 'base64');
      const known = verified.get(key);
      if (known && isDeepStrictEqual(known.record, await recordOf(name))) return known.caller;
      const pending = verifying.get(key) ?? verify(credentials, key).finally(() => verifying.delete(key));
      verifying.set(key, pending);
      return pending;
    },
  };
};
