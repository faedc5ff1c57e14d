import type { Configuration } from '../config/configuration.js';
import { CannotGoOn } from '../config/operator-errors.js';

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/u;

/**
 * Refuses to serve without `--insecure`, because there is no authentication yet; and to listen on an address other than
 * loopback without `--allow-insecure-remote`.
 *
 * @throws {CannotGoOn} with the flag that would allow it.
 */
export const assertAllowed = ({ insecure, allow_insecure_remote, host }: Configuration): void => {
  if (!insecure) {
    throw new CannotGoOn('there is no authentication yet: start with --insecure to serve without it, on this machine');
  }
  if (!LOOPBACK.test(host) && !allow_insecure_remote) {
    throw new CannotGoOn(
      `without authentication, ${host} lets anybody in: add --allow-insecure-remote if that is meant`,
    );
  }
};
