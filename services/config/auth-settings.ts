import * as z from 'zod';
import { isPrincipalName, NAME_RULE } from '../auth/permissions/principal-name.js';
import { ANY, ACCESS_ROLES } from '../auth/permissions/roles.js';
import { authServer, baseUrl } from './auth-server-settings.js';
import { count, distinctBy, duration, flag, httpAddress, isHttpAddress } from './setting-kinds.js';

/** Signature algorithms with a public key. Symmetric ones are left out: their key would verify and sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;

/** One text or a list of them. */
const textOrTexts = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(z.string().min(1)).min(1),
);

const issuerFields = z.strictObject({
  issuer: z.string().min(1),
  audience: textOrTexts,
  jwks_url: httpAddress.optional(),
  algorithms: z
    .array(z.enum(ALGORITHMS, { error: `must be among ${ALGORITHMS.join(', ')}` }))
    .min(1)
    .default(['RS256', 'PS256', 'ES256', 'EdDSA']),
  clock_skew: duration.prefault('30s'),
  introspection: z
    .strictObject({
      url: httpAddress,
      client_id: z.string().min(1),
      client_secret: z.string().min(1),
      cache: duration.prefault('1m'),
    })
    .optional(),
});

const issuer = issuerFields.refine(
  ({ issuer: name, jwks_url: keys, introspection }) => isHttpAddress(name) || (keys ?? introspection) !== undefined,
  { error: 'must be an http or https address, where there is neither jwks_url nor introspection', path: ['issuer'] },
);

const grant = z.strictObject({
  issuer: z.string().min(1).optional(),
  claim: z.string().min(1),
  value: z.string().min(1),
  role: z.enum(ACCESS_ROLES, { error: `must be one of ${ACCESS_ROLES.join(', ')}` }),
  projects: textOrTexts.prefault([ANY]),
  domains: textOrTexts.prefault([ANY]),
});

/** Settings that command lines get for signing people in; the console asks for the same audience. */
const publicClient = z.strictObject({
  client_id: z
    .string()
    .min(1)
    .default('flytectl')
    .describe('id of the OAuth client with which command lines sign people in'),
  redirect_uri: z
    .string()
    .default('http://localhost:53593/callback')
    .describe('address on the local machine to which the browser returns after signing in'),
  scopes: z.array(z.string().min(1)).default(['all', 'offline']).describe('scopes that command lines ask for'),
  audience: z
    .string()
    .default('')
    .describe('audience that command lines and the console ask for, where an issuer wants one'),
});

/** Settings of sessions for browsers, which the console needs. */
const browser = z.strictObject({
  client_id: z
    .string()
    .default('')
    .describe('id of the OAuth client with which the console signs people in at the first of `auth.issuers`'),
  client_secret: z.string().default('').describe('secret of the client for the console; none for a public client'),
  scopes: z
    .array(z.string().min(1))
    .default(['openid', 'profile'])
    .describe('scopes that the client for the console asks for'),
  address: baseUrl
    .default('')
    .describe(
      'address under which browsers reach REST, with the path prefix of a proxy where it has one; by default `auth.server.issuer`, or the address listened on',
    ),
});

const certificate = z
  .strictObject({
    common_name: z.string().min(1).optional(),
    uri: z.string().min(1).optional(),
    dns: z.string().min(1).optional(),
    principal: z.string().refine(isPrincipalName, `must have ${NAME_RULE}`),
    roles: z.array(z.enum(ACCESS_ROLES, { error: `must be among ${ACCESS_ROLES.join(', ')}` })).default([]),
  })
  .refine(
    ({ common_name: name, uri, dns }) => (name ?? uri ?? dns) !== undefined,
    'must have common_name, uri or dns, which certificates must have',
  );

/** The settings of authentication and permissions. */
export const auth = z.strictObject({
  issuers: z
    .array(issuer)
    .refine(distinctBy('issuer'), 'must name each issuer once, with all its audiences')
    .default([])
    .describe(
      'issuers of tokens, each with `issuer`, `audience`, and where needed `jwks_url`, `algorithms`, `clock_skew`, `introspection`',
    ),
  metadata_key: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]*$/u, { error: 'must be a header name in small letters' })
    .default('flyte-authorization')
    .describe('header that is read for a token where `authorization` has none of a configured issuer'),
  grants: z
    .array(grant)
    .default([])
    .describe(
      'roles for tokens with a claim, each with `claim`, `value`, `role`, `projects`, `domains`, and where needed `issuer`',
    ),
  certificates: z
    .array(certificate)
    .default([])
    .describe(
      'principals of client certificates, each with `principal`, `roles`, and one or more of `common_name`, `uri` and `dns`, which must all match; `tls.client_ca_file` verifies them',
    ),
  cached_tokens: count
    .default(10_000)
    .describe('most verified tokens that are cached; also the most verified passwords and secrets'),
  public_client: publicClient.prefault({}),
  browser: browser.prefault({}),
  server: authServer.prefault({}),
  audit_retention: duration.prefault('90d').describe('time for which entries of the audit trail are kept'),
  behind_tls: flag.default(false).describe('a proxy in front terminates TLS: accept tokens without TLS on any address'),
});
