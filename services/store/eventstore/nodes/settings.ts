import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { StoreUnavailable } from '../../../kernel/fault.js';
import { OWN_CONNECTION } from '../../../kernel/ports/log-identity.js';
import { type Endpoint, eventstoreAddress } from '../address.js';

/** How nodes of an event store are found and talked to: a connection string with its files read. */
export type NodeSettings = {
  readonly hosts: readonly Endpoint[];
  /** The one host is a name in DNS, of which each address is a node. */
  readonly isDiscovered: boolean;
  /** Absent where TLS is not spoken. */
  readonly tls?: SecureContext;
  readonly user?: { readonly username: string; readonly password: string };
  readonly connectionName: string;
  /** A ping after so long, while calls are open, and how long its answer may take; `undefined` for no pings. */
  readonly keepAlive: { readonly intervalMs: number | undefined; readonly timeoutMs: number | undefined };
  /** Of calls that have one answer. */
  readonly deadlineMs: number;
  /** How long a node may take to say who belongs to its cluster. */
  readonly gossipTimeoutMs: number;
  /** Between two looks for a node. */
  readonly discoveryIntervalMs: number;
};

/** Together they say how long a node that has fallen silent is taken for one that works. */
const KEEP_ALIVE_MS = 3_000;
const DEADLINE_MS = 10_000;
const GOSSIP_TIMEOUT_MS = 2_000;
const DISCOVERY_INTERVAL_MS = 250;

type Parameters = ReadonlyMap<string, string>;

const number = (parameters: Parameters, name: string, otherwise: number): number =>
  Number(parameters.get(name) ?? otherwise);

/** The file that a parameter names. */
const file = (parameters: Parameters, name: string): Buffer | undefined => {
  const path = parameters.get(name);
  return path === undefined ? undefined : readFileSync(path);
};

const secureContext = (parameters: Parameters): SecureContext => {
  const [ca, cert, key] = ['tlsCAFile', 'userCertFile', 'userKeyFile'].map((name) => file(parameters, name));
  if ((cert === undefined) !== (key === undefined))
    throw new Error('userCertFile and userKeyFile go together: one of them is missing');
  return createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
};

const pings = (parameters: Parameters, name: string): number | undefined => {
  const ms = number(parameters, name, KEEP_ALIVE_MS);
  return ms < 0 ? undefined : ms;
};

const unusable = (why: string, cause?: unknown): StoreUnavailable =>
  new StoreUnavailable(`the connection string cannot be used: ${why}`, cause);

const secured = (parameters: Parameters): SecureContext => {
  try {
    return secureContext(parameters);
  } catch (error) {
    throw unusable(error instanceof Error ? error.message : String(error), error);
  }
};

/** @throws {StoreUnavailable} when the connection string is none, or a file that it names cannot be used. */
export const nodeSettings = (url: string): NodeSettings => {
  const address = eventstoreAddress(url);
  if (typeof address === 'string') throw unusable(`it ${address}`);
  const { hosts, isDiscovered, tls, user, parameters } = address;
  return {
    hosts,
    isDiscovered,
    ...(tls && { tls: secured(parameters) }),
    ...(user && { user }),
    connectionName: parameters.get('connectionName') ?? OWN_CONNECTION,
    keepAlive: {
      intervalMs: pings(parameters, 'keepAliveInterval'),
      timeoutMs: pings(parameters, 'keepAliveTimeout'),
    },
    deadlineMs: number(parameters, 'defaultDeadline', DEADLINE_MS),
    gossipTimeoutMs: number(parameters, 'gossipTimeout', GOSSIP_TIMEOUT_MS / 1_000) * 1_000,
    discoveryIntervalMs: number(parameters, 'discoveryInterval', DISCOVERY_INTERVAL_MS),
  };
};
