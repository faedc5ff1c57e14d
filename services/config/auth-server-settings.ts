import * as z from 'zod';
import { ACCESS_ROLES } from '../auth/permissions/roles.js';
import { BROWSER_CLIENT } from '../auth/server/browser-client.js';
import { duration, flag, isHttpAddress, oneOrMore, readStore, redirectAddress } from './setting-kinds.js';

/** A path that is the same in a URL and in the `Path` of a cookie, because nothing in it has to be encoded. */
const PLAIN_PATH = /^(?:\/[\w.~-]+)*$/u;

const isBaseUrl = (text: string): boolean => {
  if (!/^https?:/u.test(text) || !URL.canParse(text)) return false;
  const { origin, pathname } = new URL(text);
  const path = pathname === '/' ? '' : pathname;
  return `${origin}${path}` === text && PLAIN_PATH.test(path);
};

/** The address of a server, with the path prefix of a proxy where it has one; empty for the default. */
export const baseUrl = z.string().refine((text) => text === '' || isBaseUrl(text), {
  error:
    'must be http://HOST:PORT or https://HOST, with the path of a proxy where it has one, without a slash at its end',
});

const client = z.strictObject({
  id: z
    .string()
    .regex(/^[ -~]+$/u, 'must have one or more printable ASCII characters')
    .refine((id) => id !== BROWSER_CLIENT, `must not be ${BROWSER_CLIENT}, the client of the console`),
  secret: z.string().min(16, 'must have 16 characters or more').optional(),
  redirect_uris: z.array(redirectAddress).default([]),
  roles: z.array(z.enum(ACCESS_ROLES, { error: `must be among ${ACCESS_ROLES.join(', ')}` })).default([]),
});

const secondOrLonger = duration.refine((ms) => ms >= 1_000, 'must be a second or longer');

const word = z.string().regex(/^[A-Za-z0-9][\w-]{0,31}$/u, 'must be 1 to 32 letters, digits, _ or -');

/** The settings of an upstream OpenID Connect provider that signs people in. */
const upstream = z
  .strictObject({
    issuer: z
      .string()
      .refine((text) => text === '' || isHttpAddress(text), 'must be an address, as its discovery document has it')
      .default('')
      .describe(
        'OpenID Connect provider at which people may sign in as well, such as https://login.example.com/realms/ml',
      ),
    client_id: z.string().default('').describe('id of the client that flightlog is at that provider'),
    client_secret: z.string().default('').describe('secret of that client; none for a public client'),
    scopes: z
      .array(z.string().min(1))
      .default(['openid', 'profile', 'email'])
      .describe('scopes that are asked for at that provider'),
    name: z.string().default('').describe('name of that provider on the login page; by default its host'),
    id: word.default('upstream').describe('prefix, before a colon, of the principals that sign in at that provider'),
    subject_claim: z
      .string()
      .min(1)
      .default('sub')
      .describe(
        'claim of its ID tokens that identifies a person; a claim other than `sub` must be unique and must never change',
      ),
    groups_claim: z
      .string()
      .min(1)
      .default('groups')
      .describe('claim of its ID tokens that lists the groups of a person'),
  })
  .refine(({ issuer, client_id }) => issuer === '' || client_id !== '', {
    error: 'must be set with upstream.issuer',
    path: ['client_id'],
  });

/** The settings of the authorization server that is built in. */
export const authServer = z.strictObject({
  enabled: flag
    .default(false)
    .describe('issue tokens here, to the people of `users_file` and the programs of `clients_file`'),
  issuer: baseUrl
    .default('')
    .describe(
      'address under which clients reach REST, with the path prefix of a proxy where it has one; by default the address listened on',
    ),
  users_file: z
    .string()
    .default('')
    .describe('file of the users that may sign in; by default `users.json` in the data directory'),
  clients_file: z
    .string()
    .default('')
    .describe('file of the programs that get tokens; by default `clients.json` in the data directory'),
  state_store: readStore
    .prefault('sqlite:')
    .describe(
      'store of sign-ins, refresh tokens and signing keys: `sqlite:` is the data directory; or `mongodb://HOST:PORT/DATABASE?replicaSet=NAME`, for processes on several machines',
    ),
  clients: z
    .array(client)
    .default([])
    .describe('further programs that get tokens, each with `id`, `secret`, `redirect_uris` and `roles`'),
  upstream: upstream.prefault({}),
  access_token_ttl: secondOrLonger.prefault('30m').describe('time for which an access token is valid'),
  refresh_token_ttl: secondOrLonger
    .prefault('14d')
    .describe('time after its last use in which a refresh token is valid'),
  key_rotation: secondOrLonger
    .prefault('30d')
    .describe('time after which a new key is made, which signs the tokens one to two hours later'),
  failures_per_minute: oneOrMore
    .default(10)
    .describe(
      'failed attempts per minute that are allowed for one user name or client id; for one address or IPv6 network six times as many',
    ),
});
