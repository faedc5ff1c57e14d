/** The host and port of a server. */
export type NodeAddress = { readonly host: string; readonly port: number };

/** An address as `HOST:PORT`, with an IPv6 address in brackets. */
export const hostAndPort = ({ host, port }: NodeAddress): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** A parsed connection string of an event store. */
export type EventstoreAddress = {
  readonly hosts: readonly NodeAddress[];
  /** True when each host is a DNS name that resolves to nodes, as with `esdb+discover://`. */
  readonly isDiscovered: boolean;
  readonly tls: boolean;
  /** The path of the file with the certificate authority of the nodes. */
  readonly authority?: string;
  readonly user?: { readonly username: string; readonly password: string };
  /** All parameters, decoded, by name in the spelling of the client library. */
  readonly parameters: ReadonlyMap<string, string>;
};

const URL_FORM =
  /^(?:esdb|kurrentdb)(?<discover>\+discover)?:\/\/(?:(?<username>[^:/?@]+):(?<password>[^@/?]+)@)?(?<hosts>[^@/?\s]+)\/?(?:\?(?<query>\S*))?$/u;

const USUAL_PORT = 2113;

/** The values that a parameter accepts, and their description in errors. */
type Accepted = { readonly pattern: RegExp; readonly text: string };

const aboveZero: Accepted = { pattern: /^[1-9]\d*$/u, text: 'a whole number above 0' };
const count: Accepted = { pattern: /^\d+$/u, text: 'a whole number from 0' };
const countOrNone: Accepted = { pattern: /^(?:-1|\d+)$/u, text: 'a whole number from 0, or -1 for none' };
const oneOf = (...values: readonly string[]): Accepted => ({
  pattern: new RegExp(`^(?:${values.join('|')})$`, 'u'),
  text: values.join(' or '),
});
const words = (text: string): Accepted => ({ pattern: /./u, text });

/** The parameters of a connection string. */
const PARAMETERS: Readonly<Record<string, Accepted>> = {
  connectionName: words('a name'),
  defaultDeadline: aboveZero,
  discoveryInterval: count,
  gossipTimeout: count,
  keepAliveInterval: countOrNone,
  keepAliveTimeout: countOrNone,
  // The client library takes -1 for no attempt at all.
  maxDiscoverAttempts: aboveZero,
  nodePreference: {
    pattern: /^(?:leader|follower|read_?only_?replica|random)$/iu,
    text: 'leader, follower, read_only_replica or random',
  },
  throwOnAppendFailure: oneOf('true', 'false'),
  tls: oneOf('true', 'false'),
  tlsCAFile: words('a path, percent-encoded'),
  // The client library itself states that false has no effect.
  tlsVerifyCert: oneOf('true'),
  userCertFile: words('a path, percent-encoded'),
  userKeyFile: words('a path, percent-encoded'),
};

/** The client library takes parameter names in any case. */
const PARAMETER_NAMES = new Map(Object.keys(PARAMETERS).map((name) => [name.toLowerCase(), name]));

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

type Parameters = ReadonlyMap<string, string>;

const parametersOf = (query: string): Parameters | string => {
  const found = new Map<string, string>();
  for (const pair of query.split('&').filter(Boolean)) {
    const [, given = '', text = ''] = /^([^=]*)=?(.*)$/u.exec(pair) ?? [];
    const value = decoded(text);
    const name = PARAMETER_NAMES.get(given.toLowerCase());
    if (name === undefined)
      return `has an unknown parameter ${JSON.stringify(given)}; there are ${Object.keys(PARAMETERS).join(', ')}`;
    const accepted = PARAMETERS[name];
    if (value === undefined || accepted?.pattern.test(value) !== true)
      return `has an invalid ${name} ${JSON.stringify(text)}: it must be ${accepted?.text}`;
    found.set(name, value);
  }
  return found;
};

const hostOf = (text: string): NodeAddress | string => {
  const [, host = '', port = String(USUAL_PORT)] = /^([^:]+)(?::([^:]*))?$/u.exec(text) ?? [];
  const isPort = /^\d{1,5}$/u.test(port) && Number(port) > 0 && Number(port) <= 65_535;
  return host !== '' && isPort ? { host, port: Number(port) } : `names no HOST:PORT: ${JSON.stringify(text)}`;
};

const hostsOf = (text: string): readonly NodeAddress[] | string => {
  const hosts: NodeAddress[] = [];
  for (const each of text.split(',')) {
    const host = hostOf(each);
    if (typeof host === 'string') return host;
    hosts.push(host);
  }
  return hosts;
};

const userOf = (groups: Readonly<Record<string, string>>): EventstoreAddress['user'] | string => {
  if (groups['username'] === undefined) return undefined;
  const [username, password] = [decoded(groups['username']), decoded(groups['password'] ?? '')];
  if (username === undefined || password === undefined) return 'has credentials that are not percent-encoded';
  return { username, password };
};

/** @returns the address of a matched {@link URL_FORM}, or the reason why it is invalid. */
const addressOf = (groups: Readonly<Record<string, string>>): EventstoreAddress | string => {
  const hosts = hostsOf(groups['hosts'] ?? '');
  if (typeof hosts === 'string') return hosts;
  const parameters = parametersOf(groups['query'] ?? '');
  if (typeof parameters === 'string') return parameters;
  const user = userOf(groups);
  if (typeof user === 'string') return user;
  const authority = parameters.get('tlsCAFile');
  return {
    hosts,
    isDiscovered: groups['discover'] !== undefined,
    tls: parameters.get('tls') !== 'false',
    ...(authority !== undefined && { authority }),
    ...(user && { user }),
    parameters,
  };
};

const FORM = 'must be esdb://HOST:PORT, with ?tls=false where the server has no TLS, or embedded:';

/**
 * Parses a connection string of EventStoreDB or KurrentDB.
 *
 * @returns the address; or, for an invalid text, an error message that does not repeat credentials.
 */
export const eventstoreAddress = (text: string): EventstoreAddress | string => {
  const groups = URL_FORM.exec(text)?.groups;
  if (groups === undefined) return FORM;
  const address = addressOf(groups);
  // A password with a bare `?` is taken for hosts and parameters, and the errors about these would repeat it.
  const isSplit = groups['username'] === undefined && text.includes('@');
  return typeof address === 'string' && isSplit ? FORM : address;
};
