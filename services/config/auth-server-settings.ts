import { z } from 'zod';
import { ROLES } from '../auth/permissions/roles.js';
import { count, duration, flag } from './setting-kinds.js';

const address = z.string().refine((text) => text === '' || (URL.canParse(text) && new URL(text).origin === text), {
  error: 'must be http://HOST:PORT or https://HOST, without a path or a slash at its end',
});

const client = z.strictObject({
  id: z.string().min(1),
  secret: z.string().min(16, 'must have 16 characters or more').optional(),
  redirect_uris: z.array(z.string().min(1)).default([]),
  roles: z.array(z.enum(ROLES, { error: `must be among ${ROLES.join(', ')}` })).default([]),
});

const longerThanNothing = duration.refine((ms) => ms >= 1_000, 'must be a second or longer');

/** The settings of the authorization server that is built in. */
export const authServer = z.strictObject({
  enabled: flag.default(false).describe('issue tokens to the people and programs in a users file and a clients file'),
  issuer: address
    .default('')
    .describe('address under which clients reach REST; the one that is listened on where it is empty'),
  users_file: z.string().default('').describe('people that may sign in; users.json in the data directory by default'),
  clients_file: z.string().default('').describe('programs that get tokens; clients.json in the data directory'),
  clients: z
    .array(client)
    .default([])
    .describe('further programs that get tokens, each with id, secret, redirect_uris and roles'),
  access_token_ttl: longerThanNothing.prefault('30m').describe('how long a token is valid'),
  refresh_token_ttl: longerThanNothing
    .prefault('14d')
    .describe('how long a sign-in can be renewed, after its last use'),
  key_rotation: longerThanNothing.prefault('30d').describe('how long a key signs tokens before a new one does'),
  failures_per_minute: count
    .refine((failures) => failures > 0, 'must be 1 or more')
    .default(10)
    .describe('failed attempts at one name in a minute; six times as many from one address'),
});
