import type { FastifyRequest } from 'fastify';

import type { ClientCertificate } from '../../kernel/ports/authentication.js';
import { clientCertificateOn } from '../client-certificate.js';

/**
 * True for a request made by a page of another origin. Browsers send their client certificate with the requests of
 * every page, as they do cookies; these headers name the origin of the page.
 */
const isCrossOrigin = ({ headers }: FastifyRequest): boolean => {
  const { origin, host = '', 'sec-fetch-site': site } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
};

/** The client certificate of a request; `undefined` without one, and for a request made by a page of another origin. */
export const certificateOf = (request: FastifyRequest): ClientCertificate | undefined =>
  isCrossOrigin(request) ? undefined : clientCertificateOn(request.raw.socket);
