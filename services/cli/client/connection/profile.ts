import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { OperatorError } from '../../../config/operator-errors.js';

/** A server by gRPC: `HOST:PORT`, without TLS or with it. */
export type GrpcAddress = {
  readonly kind: 'grpc';
  readonly target: string;
  readonly isPlain: boolean;
  readonly skipVerify: boolean;
  /** Certificates to trust, in PEM, in place of those of the system. */
  readonly caFile?: string;
};

/** A server by REST: its URL. */
export type RestAddress = { readonly kind: 'rest'; readonly url: string };

/** The sign-in of a person: with a browser on this machine, or by typing a code into a browser on any machine. */
export type SignInFlow = 'browser' | 'device';

/** The way to get a token, when the server asks for one. */
export type SignIn =
  | { readonly kind: 'token-file'; readonly file: string }
  | { readonly kind: 'command'; readonly command: readonly string[] }
  /** A person signs in by `flightlog sign-in`; with a `flow`, any command starts the sign-in when it needs a token. */
  | { readonly kind: 'person'; readonly flow?: SignInFlow }
  | ClientCredentials;

export type ClientCredentials = {
  readonly kind: 'client-credentials';
  readonly clientId: string;
  readonly secretFile?: string;
  readonly secretVariable?: string;
  readonly scopes: readonly string[];
  readonly audience?: string;
  /** The token endpoint; by default the one that the server names. */
  readonly tokenUrl?: string;
};

/** The server of a command, and how to sign in there. */
export type Profile = {
  readonly address: GrpcAddress | RestAddress;
  readonly signIn: SignIn;
  /** The header of tokens, such as `authorization`. */
  readonly header: string;
  /** The base of the web console, where it is known. */
  readonly consoleUrl?: string;
};

/** The flags of every command that talks to a server. */
export type ConnectionFlags = {
  readonly server?: string;
  readonly profile?: string;
  readonly tokenFile?: string;
};

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_SERVER = 'http://127.0.0.1:8080';
const DEFAULT_SECRET_FILE = '/etc/secrets/client_secret';
const DEFAULT_CLIENT = 'flytepropeller';

/**
 * The keys of the configuration file that this client uses; it ignores the keys of other command lines.
 *
 * @see https://www.union.ai/docs/v1/flyte/api-reference/flytectl-cli/ for its keys
 */
const file = z.object({
  admin: z
    .object({
      endpoint: z.string().default(''),
      insecure: z.boolean().default(false),
      insecureSkipVerify: z.boolean().default(false),
      caCertFilePath: z.string().optional(),
      authType: z.string().default('ClientSecret'),
      clientId: z.string().default(DEFAULT_CLIENT),
      clientSecretLocation: z.string().optional(),
      clientSecretEnvVar: z.string().optional(),
      scopes: z.array(z.string()).default([]),
      audience: z.string().optional(),
      tokenUrl: z.string().optional(),
      authorizationHeader: z.string().default('authorization'),
      command: z.array(z.string()).default([]),
    })
    .prefault({}),
  console: z.object({ endpoint: z.string().optional() }).prefault({}),
});

type Admin = z.infer<typeof file>['admin'];

const defined = <Value extends object>(value: Value): { readonly [Key in keyof Value]: NonNullable<Value[Key]> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never;

const targetOf = (endpoint: string, isPlain: boolean): string => {
  const host = endpoint.replace(/^(?:dns|https?|grpcs?):\/+/u, '').replace(/\/$/u, '');
  return /:\d+$/u.test(host) ? host : `${host}:${isPlain ? 80 : 443}`;
};

const AUTH_TYPES = ['Pkce', 'DeviceFlow', 'ClientSecret', 'ExternalCommand'];

const signInOf = (admin: Admin, path: string): SignIn => {
  const { authType, clientId, scopes, audience, tokenUrl, command } = admin;
  switch (authType.toLowerCase()) {
    case 'clientsecret': {
      const secretVariable = admin.clientSecretEnvVar;
      const secretFile = admin.clientSecretLocation ?? (secretVariable === undefined ? DEFAULT_SECRET_FILE : undefined);
      const optional = defined({ secretFile, secretVariable, audience, tokenUrl }) as Partial<ClientCredentials>;
      return { kind: 'client-credentials', clientId, scopes, ...optional };
    }
    case 'externalcommand':
      return { kind: 'command', command };
    case 'pkce':
      return { kind: 'person', flow: 'browser' };
    case 'deviceflow':
      return { kind: 'person', flow: 'device' };
    default:
      throw new OperatorError(`${path}: admin.authType: ${authType}: must be ${AUTH_TYPES.join(', ')}`);
  }
};

/**
 * Reads the text of a configuration file of the interface's command lines.
 *
 * @throws {OperatorError} when it is not valid; the message names the file and the key.
 */
export const profileIn = (text: string, path: string): Profile => {
  const { success, data, error } = file.safeParse(parse(text) ?? {});
  if (!success) {
    const [issue] = error.issues;
    throw new OperatorError(`${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`);
  }
  const { admin, console } = data;
  if (admin.endpoint === '') throw new OperatorError(`${path}: admin.endpoint: names no server: set it to HOST:PORT`);
  const address: GrpcAddress = {
    kind: 'grpc',
    target: targetOf(admin.endpoint, admin.insecure),
    isPlain: admin.insecure,
    skipVerify: admin.insecureSkipVerify,
    ...(admin.caCertFilePath !== undefined && { caFile: admin.caCertFilePath }),
  };
  return {
    address,
    signIn: signInOf(admin, path),
    header: admin.authorizationHeader,
    ...(console.endpoint !== undefined && { consoleUrl: console.endpoint }),
  };
};

/**
 * The profile of a server that is named by its address alone.
 *
 * @throws {OperatorError} when it has another form.
 */
const profileOfServer = (server: string, origin: string): Profile => {
  const signIn: SignIn = { kind: 'person' };
  const header = 'authorization';
  if (/^https?:\/\/./u.test(server))
    return { address: { kind: 'rest', url: server }, signIn, header, consoleUrl: server };
  if (!/^(?:grpcs?:\/\/|dns:\/\/\/)./u.test(server))
    throw new OperatorError(
      `${origin}: ${server}: must be http://HOST:PORT or https://HOST for REST, or grpc://HOST:PORT or grpcs://HOST:PORT`,
    );
  const isPlain = server.startsWith('grpc://');
  return { address: { kind: 'grpc', target: targetOf(server, isPlain), isPlain, skipVerify: false }, signIn, header };
};

const readProfile = (path: string): Profile => {
  try {
    return profileIn(readFileSync(path, 'utf8'), path);
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    throw new OperatorError(`${path}: ${cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : ''}`, {
      cause,
    });
  }
};

/** The file of a profile: a path, or a name such as `staging` for `~/.flyte/staging.yaml`. */
const fileOf = (profile: string, home: string): string =>
  /[/.]/u.test(profile) ? profile : join(home, '.flyte', `${profile}.yaml`);

const named = (text: string | undefined): text is string => text !== undefined && text !== '';

const withoutToken = (flags: ConnectionFlags, environment: Environment, home: string): Profile => {
  if (named(flags.server)) return profileOfServer(flags.server, '--server');
  if (named(flags.profile)) return readProfile(fileOf(flags.profile, home));
  const { FLIGHTLOG_SERVER: server, FLIGHTLOG_PROFILE: profile, FLYTECTL_CONFIG: config } = environment;
  if (named(server)) return profileOfServer(server, 'FLIGHTLOG_SERVER');
  if (named(profile)) return readProfile(fileOf(profile, home));
  if (named(config)) return readProfile(config);
  const usual = join(home, '.flyte', 'config.yaml');
  return existsSync(usual) ? readProfile(usual) : profileOfServer(DEFAULT_SERVER, '--server');
};

/**
 * The profile of a command: by its flags, then by the environment, then by `~/.flyte/config.yaml`, and otherwise the
 * sandbox on this machine. Credentials of a file are for the server of that file alone.
 *
 * @throws {OperatorError} when the address or the file is not valid.
 */
export const profileOf = (
  flags: ConnectionFlags,
  environment: Environment = process.env,
  home: string = homedir(),
): Profile => {
  const profile = withoutToken(flags, environment, home);
  const tokenFile = flags.tokenFile ?? environment['FLIGHTLOG_TOKEN_FILE'];
  return named(tokenFile) ? { ...profile, signIn: { kind: 'token-file', file: tokenFile } } : profile;
};
