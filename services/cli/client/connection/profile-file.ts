import { readFileSync } from 'node:fs';
import { yaml } from '../../../config/yaml.js';
import * as z from 'zod';
import { OperatorError } from '../../../config/operator-errors.js';
import { count, duration, headerName } from '../../../config/setting-kinds.js';
import { MAX_TIMER_MS } from '../../../kernel/ports/timers.js';
import { type ClientCredentials, type GrpcAddress, type Profile, type SignIn, targetOf } from './profile.js';

const DEFAULT_SECRET_FILE = '/etc/secrets/client_secret';
const DEFAULT_CLIENT = 'flytepropeller';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/**
 * The keys of the configuration file that this client uses. The values of `useAuth` and `useAudienceFromAdmin` are not
 * read: the client behaves as if both were set.
 *
 * @see https://www.union.ai/docs/v1/flyte/api-reference/flytectl-cli/ for the keys of flytectl
 */
const KEYS = {
  admin: {
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
    authorizationHeader: headerName.default('authorization'),
    command: z.array(z.string()).default([]),
    proxyCommand: z.array(z.string()).optional(),
    httpProxyURL: z.url({ protocol: /^https?$/u, error: 'must be http://HOST:PORT or https://HOST:PORT' }).optional(),
    maxRetries: count.default(0),
    perRetryTimeout: duration.prefault('30s'),
    maxBackoffDelay: duration.prefault('8s'),
    maxMessageSizeBytes: count.optional(),
    defaultServiceConfig: z.string().refine(isJson, { error: 'must be JSON' }).optional(),
    useAuth: z.boolean().optional(),
    useAudienceFromAdmin: z.boolean().optional(),
  },
  console: { endpoint: z.string().optional() },
};

const NO_MAPPING = { error: 'must be a mapping' };

const file = z.object(
  {
    admin: z.object(KEYS.admin, NO_MAPPING).prefault({}),
    console: z.object(KEYS.console, NO_MAPPING).prefault({}),
  },
  { error: 'must be a mapping with the section admin' },
);

type Admin = z.infer<typeof file>['admin'];

const defined = <Value extends object>(value: Value): { readonly [Key in keyof Value]?: NonNullable<Value[Key]> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never;

const AUTH_TYPES = ['Pkce', 'DeviceFlow', 'ClientSecret', 'ExternalCommand'];

const signInOf = (admin: Admin, path: string): SignIn => {
  const { authType, clientId, scopes, audience, tokenUrl, command } = admin;
  switch (authType.toLowerCase()) {
    case 'clientsecret': {
      const secretVariable = admin.clientSecretEnvVar;
      const secretFile = admin.clientSecretLocation ?? (secretVariable === undefined ? DEFAULT_SECRET_FILE : undefined);
      const optional: Partial<ClientCredentials> = defined({ secretFile, secretVariable, audience, tokenUrl });
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

const keysOf = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null ? Object.keys(value) : [];

/**
 * The keys in `admin` and `console` of a configuration file that this client does not use. The other sections, such as
 * `logger` and `storage`, are about other programs; flytectl writes them into every new file.
 */
export const ignoredKeys = (text: string): readonly string[] => {
  const document = yaml().parse(text) as Readonly<Record<string, unknown>> | null;
  return Object.entries(KEYS).flatMap(([section, known]) =>
    keysOf(document?.[section]).flatMap((key) => (key in known ? [] : `${section}.${key}`)),
  );
};

/**
 * Parses the text of a configuration file as flytectl and flytekit have it.
 *
 * @param path the path of the file, for messages.
 * @throws {OperatorError} when a key is not valid; the message names the file and the key.
 * @throws {Error} when the text is not YAML.
 */
export const profileIn = (text: string, path: string): Profile => {
  const { success, data, error } = file.safeParse(yaml().parse(text) ?? {});
  if (!success) {
    const [issue] = error.issues;
    const place = [path, issue?.path.join('.') ?? ''].filter((part) => part !== '').join(': ');
    throw new OperatorError(`${place}: ${issue?.message ?? 'is not valid'}`);
  }
  const { admin, console } = data;
  if (admin.endpoint === '') throw new OperatorError(`${path}: admin.endpoint: names no server: set it to HOST:PORT`);
  const address: GrpcAddress = {
    kind: 'grpc',
    target: targetOf(admin.endpoint, admin.insecure),
    isPlain: admin.insecure,
    skipVerify: admin.insecureSkipVerify,
    ...defined({ caFile: admin.caCertFilePath }),
  };
  return {
    address,
    signIn: signInOf(admin, path),
    header: admin.authorizationHeader,
    ...defined({ consoleUrl: console.endpoint }),
    proxy: defined({ command: admin.proxyCommand, issuerUrl: admin.httpProxyURL }),
    retryPolicy: {
      retries: admin.maxRetries,
      tryMs: admin.perRetryTimeout || MAX_TIMER_MS, // zero is no limit, as with flytectl
      maxPauseMs: admin.maxBackoffDelay,
    },
    channel: defined({ serviceConfig: admin.defaultServiceConfig, maxMessageBytes: admin.maxMessageSizeBytes }),
  };
};

/** The files whose ignored keys were named: a command may read its file more than once. */
const warned = new Set<string>();

const warnOfIgnored = (text: string, path: string): void => {
  const ignored = ignoredKeys(text);
  if (ignored.length === 0 || warned.has(path)) return;
  warned.add(path);
  process.stderr.write(`flightlog: ${path}: not used: ${ignored.join(', ')}\n`);
};

/**
 * Reads a configuration file, and names the keys on standard error that are not used.
 *
 * @throws {OperatorError} when it cannot be read or is not valid; the message names the file.
 */
export const readProfile = (path: string): Profile => {
  try {
    const text = readFileSync(path, 'utf8');
    const profile = profileIn(text, path);
    warnOfIgnored(text, path);
    return profile;
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    throw new OperatorError(`${path}: ${cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : ''}`, {
      cause,
    });
  }
};
