import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { StoreUnavailable } from '../../../kernel/fault.js';
import { OWN_CONNECTION } from '../../../kernel/ports/log-identity.js';
import { type NodeAddress, eventstoreAddress } from '../address.js';
import { errorText } from '../../../kernel/error-text.js';

/** The settings for finding and calling nodes, from a connection string and the files that it names. */
export type NodeSettings = {
  readonly hosts: readonly NodeAddress[];
  /** True when each host is a DNS name, each address of which is a node. */
  readonly isDiscovered: boolean;
  /** Absent without TLS. */
  readonly tls?: SecureContext;
  readonly user?: { readonly username: string; readonly password: string };
  readonly connectionName: string;
  /** The interval of pings while calls are open, `undefined` for none; the time for answers, `undefined` for any. */
  readonly keepAlive: { readonly intervalMs: number | undefined; readonly timeoutMs: number | undefined };
  /** The deadline of unary calls. */
  readonly deadlineMs: number;
  /** The time within which a node must list the members of its cluster. */
  readonly gossipTimeoutMs: number;
  /** The pause between two attempts to find a node. */
  readonly discoveryIntervalMs: number;
};

/** The default of both the ping interval and its timeout: a silent node is noticed within their sum. */
const KEEP_ALIVE_MS = 3_000;
const DEADLINE_MS = 10_000;
const GOSSIP_TIMEOUT_MS = 2_000;
const DISCOVERY_INTERVAL_MS = 250;

type Parameters = ReadonlyMap<string, string>;

const number = (parameters: Parameters, name: string, otherwise: number): number =>
  Number(parameters.get(name) ?? otherwise);

/** Reads the file that a parameter names; `undefined` without the parameter. */
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

const unusable = (reason: string, cause?: unknown): StoreUnavailable =>
  new StoreUnavailable(`the connection string cannot be used: ${reason}`, cause);

const secured = (parameters: Parameters): SecureContext => {
  try {
    return secureContext(parameters);
  } catch (error) {
    throw unusable(errorText(error), error);
  }
};

/** @throws {StoreUnavailable} when the connection string is invalid, or a file that it names cannot be used. */
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
