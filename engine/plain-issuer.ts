import { allowInsecureRequests, type Configuration } from 'openid-client';

/**
 * Lets an issuer be reached without TLS, such as one on this machine. The library marks its function as deprecated only
 * to be noticed, and looks for this very function before it asks an issuer.
 */
// eslint-disable-next-line @typescript-eslint/no-deprecated
export const allowPlain: (issuer: Configuration) => void = allowInsecureRequests;
