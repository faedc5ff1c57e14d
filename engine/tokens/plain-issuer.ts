import { allowInsecureRequests, type Configuration } from 'openid-client';

/**
 * Allows requests to an issuer without TLS, such as one on this machine.
 *
 * It is the function of `openid-client` itself and not a wrapper around it, because callers also pass it in the option
 * `execute` of a discovery, where the library recognizes it by identity. The library marks the function as deprecated
 * only as a warning about insecure requests; it is not going to be removed.
 */
// oxlint-disable-next-line typescript/no-deprecated
export const allowPlain: (issuer: Configuration) => void = allowInsecureRequests;
