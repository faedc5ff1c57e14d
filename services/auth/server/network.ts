import { isIPv6 } from 'node:net';

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/iu;

/** The groups of 16 bits that a network of one customer has in common: a /64. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

const groupsIn = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));

/**
 * The part of an address that clients cannot choose themselves: an IPv4 address, also one that is written as IPv6, or
 * the /64 network of an IPv6 address. Other texts stay as they are.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4291#section-2.2 for the ways to write an address
 */
export const networkOf = (address: string): string => {
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
