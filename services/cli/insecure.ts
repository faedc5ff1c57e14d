import type { Configuration } from '../config/configuration.js';
import { OperatorError } from '../config/operator-errors.js';

type Allowed = Pick<Configuration, 'insecure' | 'allow_insecure_remote' | 'host' | 'auth' | 'role' | 'tls'>;

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/u;

const assertInsecure = ({ allow_insecure_remote: isMeant, host }: Allowed): void => {
  if (LOOPBACK.test(host) || isMeant) return;
  throw new OperatorError(
    `without authentication, ${host} lets anybody in: add --allow-insecure-remote if that is meant`,
  );
};

const assertSecure = ({ auth, role, tls, host }: Allowed): void => {
  if (role.includes('log')) {
    throw new OperatorError(
      'a log server authenticates nobody: start it with --insecure, where only its clients reach it',
    );
  }
  if (auth.issuers.length === 0) {
    throw new OperatorError(
      'there is nobody to authenticate callers: name an issuer of tokens in auth.issuers, or start with --insecure to serve without authentication, on this machine',
    );
  }
  if (LOOPBACK.test(host) || tls.cert_file !== '' || auth.behind_tls) return;
  throw new OperatorError(
    `without TLS, tokens to ${host} can be read on their way: set tls.cert_file, or auth.behind_tls where a proxy in front terminates TLS`,
  );
};

/**
 * Refuses to serve without an issuer of tokens or `--insecure`; with `--insecure`, to listen on an address other than
 * loopback without `--allow-insecure-remote`; with authentication, to take tokens there without TLS.
 *
 * @throws {OperatorError} with the setting that would allow it.
 */
export const assertAllowed = (configuration: Allowed): void =>
  configuration.insecure ? assertInsecure(configuration) : assertSecure(configuration);
