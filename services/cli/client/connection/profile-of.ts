import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../../../config/operator-errors.js';
import { type ConnectionFlags, type Profile, targetOf } from './profile.js';
import { readProfile } from './profile-file.js';

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_SERVER = 'http://127.0.0.1:8080';

const WITHOUT_FILE = {
  signIn: { kind: 'person' },
  header: 'authorization',
  proxy: {},
  retryPolicy: { retries: 0, tryMs: 30_000, maxPauseMs: 0 },
  channel: {},
} as const satisfies Partial<Profile>;

/**
 * The profile of a server that is named by its address alone.
 *
 * @throws {OperatorError} when it is neither a URL of REST nor one of gRPC.
 */
const profileOfServer = (server: string, origin: string): Profile => {
  if (/^https?:\/\/./u.test(server))
    return { ...WITHOUT_FILE, address: { kind: 'rest', url: server }, consoleUrl: server };
  if (!/^(?:grpcs?:\/\/|dns:\/\/\/)./u.test(server))
    throw new OperatorError(
      `${origin}: ${server}: must be http://HOST:PORT or https://HOST for REST, or grpc://HOST:PORT or grpcs://HOST:PORT`,
    );
  const isPlain = server.startsWith('grpc://');
  const target = targetOf(server, isPlain);
  return { ...WITHOUT_FILE, address: { kind: 'grpc', target, isPlain, skipVerify: false } };
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
