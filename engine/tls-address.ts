import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** The IP address in a gRPC target; `undefined` when the target has a host name instead. */
const addressOf = (target: string): string | undefined => {
  const host = target.replace(/^(?:dns:(?:\/\/[^/]*\/)?|ipv[46]:)/u, '').replace(/:\d+$/u, '');
  const address = host.replace(/^\[(.+)\]$/u, '$1');
  return isIP(address) === 0 ? undefined : address;
};

/** Options that a channel with TLS needs in addition to its usual ones. */
export type TlsByAddress = {
  readonly verify: { readonly checkServerIdentity?: (name: string, certificate: PeerCertificate) => Error | undefined };
  readonly options: { readonly 'grpc.ssl_target_name_override'?: string };
};

/**
 * Makes the options that a channel of `@grpc/grpc-js` with TLS needs when its target is an IP address. The library sends the
 * host of the target as the server name, which must not be an address (RFC 6066, section 3): Node 26 refuses it, and
 * earlier releases print a warning. The certificate must still be for the address.
 */
export const tlsByAddress = (target: string): TlsByAddress => {
  const address = addressOf(target);
  if (address === undefined) return { verify: {}, options: {} };
  return {
    verify: { checkServerIdentity: (_, certificate) => checkServerIdentity(address, certificate) },
    options: { 'grpc.ssl_target_name_override': 'localhost' },
  };
};
