import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';

import { RpcError } from '../../kernel/rpc.js';
import { type Attempts, attemptLimit } from './attempts.js';

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/iu;
/** An address with the port of the client, which some proxies add. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]+)\]):\d+$/u;

/** The groups of 16 bits that a network of one customer has in common: a /64. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

const withoutPort = (address: string): string => {
  const [, version4, version6] = WITH_PORT.exec(address) ?? [];
  return version4 ?? version6 ?? address;
};

const groupsIn = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));

/**
 * The part of an address that clients cannot choose themselves: an IPv4 address, also in the form `::ffff:192.0.2.1`,
 * or the /64 network of an IPv6 address. Other texts stay as they are.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4291#section-2.2 for the ways to write an address
 */
export const networkOf = (given: string): string => {
  const address = withoutPort(given);
  const [, mapped] = MAPPED.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  const [plain = ''] = address.split('%', 1);
  if (!isIPv6(plain)) return address;
  const [head = '', tail] = plain.split('::', 2);
  const [before, after] = [groupsIn(head), groupsIn(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, GROUPS - before.length - after.length);
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after];
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
};

/** Limits of failed attempts at a name and its secret. */
export interface SignInLimits {
  /**
   * Takes an attempt. Without an address it counts for the name alone, and without a name for the address alone.
   *
   * @returns the seconds to wait; 0 when the attempt may go on.
   */
  take(address: string | undefined, name?: string): number;
  /** Gives the attempt back, because it has not failed. */
  giveBack(address: string | undefined, name?: string): void;
}

/** Many people and engines may share an address, so it may fail more often than one name. */
const NAMES_PER_ADDRESS = 6;

/** Names are kept by their hash: they are as long as clients send them. */
const keyOf = (name: string): string => hash('sha256', name, 'base64');

/** Allows `perMinute` failures for each name, and six times as many for each address or IPv6 network. */
export const signInLimits = (perMinute: number, now?: () => number): SignInLimits => {
  const names = attemptLimit(perMinute, now);
  const networks = attemptLimit(perMinute * NAMES_PER_ADDRESS, now);
  const held = (limit: Attempts, key: string | undefined): number => (key === undefined ? 0 : limit.take(key));
  const free = (limit: Attempts, key: string | undefined): void => {
    if (key !== undefined) limit.giveBack(key);
  };
  const keysOf = (address: string | undefined, name: string | undefined) => ({
    network: address === undefined ? undefined : networkOf(address),
    key: name === undefined ? undefined : keyOf(name),
  });
  return {
    take: (address, name) => {
      const { network, key } = keysOf(address, name);
      const wait = held(networks, network);
      if (wait > 0) return wait;
      const heldName = held(names, key);
      if (heldName > 0) free(networks, network); // nothing is verified, so it says nothing about the address
      return heldName;
    },
    giveBack: (address, name) => {
      const { network, key } = keysOf(address, name);
      free(networks, network);
      free(names, key);
    },
  };
};

/** The result of a check within limits; `wait` is in seconds, when it was not made. */
export type LimitedCheck = { readonly isRight: boolean } | { readonly wait: number };

const MS = 1_000;

/** Checks a name and its secret, unless too many attempts have failed or too many checks wait. */
export const checkLimited = async (
  limits: SignInLimits,
  { name, address }: { readonly name: string; readonly address: string | undefined },
  check: () => Promise<unknown>,
): Promise<LimitedCheck> => {
  const wait = limits.take(address, name);
  if (wait > 0) return { wait };
  try {
    if ((await check()) === undefined) return { isRight: false };
    limits.giveBack(address, name);
    return { isRight: true };
  } catch (error) {
    limits.giveBack(address, name); // it was not checked
    if (!(error instanceof RpcError) || error.code !== 'RESOURCE_EXHAUSTED') throw error;
    return { wait: Math.ceil((error.retryAfterMs ?? MS) / MS) };
  }
};
