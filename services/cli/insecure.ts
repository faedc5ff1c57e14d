import type { Configuration } from '../config/configuration.js';
import { OperatorError } from '../config/operator-errors.js';

type Allowed = Pick<Configuration, 'insecure' | 'allow_insecure_remote' | 'host' | 'auth' | 'role' | 'tls'>;

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/u;

const assertInsecure = ({ allow_insecure_remote: isRemoteAllowed, host }: Allowed): void => {
  if (LOOPBACK.test(host) || isRemoteAllowed) return;
  throw new OperatorError(
    `without authentication, ${host} accepts calls from every client: listen on 127.0.0.1 (--host), or add --allow-insecure-remote if that is intended`,
  );
};

const assertSecure = ({ auth, role, tls, host }: Allowed): void => {
  if (role.includes('log')) {
    throw new OperatorError(
      'a log server does not authenticate its clients: start it with --insecure, on a network that only they can reach',
    );
  }
  if (auth.issuers.length === 0 && !auth.server.enabled && auth.certificates.length === 0) {
    throw new OperatorError(
      'no issuer of tokens is configured: name one in auth.issuers, let this server issue them with auth.server.enabled, or start with --insecure to serve without authentication, on this machine',
    );
  }
  if (LOOPBACK.test(host) || tls.cert_file !== '' || auth.behind_tls) return;
  throw new OperatorError(
    `without TLS, tokens sent to ${host} can be read by others on the network: set tls.cert_file, or auth.behind_tls where a proxy in front terminates TLS`,
  );
};

/**
 * Refuses to serve in an unsafe way:
 *
 * - with `--insecure`, on an address other than loopback without `--allow-insecure-remote`;
 * - without `--insecure`, when no issuer of tokens and no client certificates are configured;
 * - without `--insecure`, on an address other than loopback with neither TLS nor `auth.behind_tls`;
 * - a log server without `--insecure`, because it has no authentication.
 *
 * @throws {OperatorError} with the setting that would allow it.
 */
export const assertAllowed = (configuration: Allowed): void =>
  configuration.insecure ? assertInsecure(configuration) : assertSecure(configuration);
