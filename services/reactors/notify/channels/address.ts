import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/** Ranges that are not on the public internet: RFC 6890 and the registries that it describes, and multicast. */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Ranges that hold IPv4 addresses are refused as a whole: a gateway could lead to a private one. */
const NOT_PUBLIC_V6 = [
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

const blockListOf = (ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = '0'] = range.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
};

// Two lists: one list would find every IPv4 address in the range of IPv6 that stands for IPv4.
const notPublicV4 = blockListOf(NOT_PUBLIC_V4, 'ipv4');
const notPublicV6 = blockListOf(NOT_PUBLIC_V6, 'ipv6');

/** True when an IP address is on the public internet. */
export const isPublic = (address: string): boolean => {
  const version = isIP(address);
  if (version === 4) return !notPublicV4.check(address, 'ipv4');
  return version === 6 && !notPublicV6.check(address, 'ipv6');
};

/** An address that must not be reached. */
export class AddressRefused extends Error {}

/** Resolves a name to all its addresses. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

const resolveName: Resolve = (name) => lookup(name, { all: true, verbatim: true });

/**
 * Resolves the host of a URL once. The connection must be made to the address that is returned: another resolution
 * could give another one.
 *
 * @param hostname as `URL.hostname` gives it, an IPv6 address in brackets.
 * @throws {AddressRefused} when any of its addresses is not public, unless `allowPrivate` is set.
 */
export const checkedAddress = async (
  hostname: string,
  allowPrivate: boolean,
  resolve: Resolve = resolveName,
): Promise<LookupAddress> => {
  const host = hostname.replace(/^\[(.*)\]$/u, '$1');
  const family = isIP(host);
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
  const [first] = addresses;
  if (!first) throw new Error(`${host} has no address`);
  const refused = allowPrivate ? undefined : addresses.find(({ address }) => !isPublic(address));
  if (refused)
    throw new AddressRefused(`${host} leads to ${refused.address}, which is not public; the channel does not allow it`);
  return first;
};
