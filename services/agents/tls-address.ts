import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** The IP address in a gRPC target, of several the first; `undefined` when the target has a host name instead. */
const addressOf = (target: string): string | undefined => {
  const [first = ''] = target.replace(/^(?:dns:(?:\/\/[^/]*\/)?|ipv[46]:)/u, '').split(',');
  const host = first.replace(/^(\[.+\]|[^:]*):\d+$/u, '$1'); // an IPv6 address without brackets has no port
  const address = host.replace(/^\[(.+)\]$/u, '$1');
  return isIP(address) === 0 ? undefined : address;
};

/** Settings that a channel with TLS needs in addition to its usual ones; empty for a target with a host name. */
export type TlsByAddress = {
  /** For the verify options of `credentials.createSsl`. */
  readonly verify: { readonly checkServerIdentity?: (name: string, certificate: PeerCertificate) => Error | undefined };
  /** For the options of the channel. */
  readonly options: { readonly 'grpc.ssl_target_name_override'?: string };
};

/**
 * Makes the options that a channel of `@grpc/grpc-js` with TLS needs when its target is an IP address. The library
 * sends the host of the target as the server name, which must not be an address (RFC 6066, section 3): Node 26 refuses
 * it, and earlier releases print a warning. The certificate must still be for the address. Engines, which are no part
 * of the control plane, have the same function.
 */
export const tlsByAddress = (target: string): TlsByAddress => {
  const address = addressOf(target);
  if (address === undefined) return { verify: {}, options: {} };
  return {
    verify: { checkServerIdentity: (_, certificate) => checkServerIdentity(address, certificate) },
    options: { 'grpc.ssl_target_name_override': 'localhost' },
  };
};
