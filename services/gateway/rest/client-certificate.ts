import type { FastifyRequest } from 'fastify';

import type { ClientCertificate } from '../../kernel/ports/authentication.js';
import { clientCertificateOn } from '../client-certificate.js';

/** Browsers show a certificate with requests of every page, as they do with cookies; they say which page asks. */
const isOfAnotherPage = ({ headers }: FastifyRequest): boolean => {
  const { origin, host = '', 'sec-fetch-site': site } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
};

/** The client certificate of a request; `undefined` when a page of another origin has made it. */
export const certificateOf = (request: FastifyRequest): ClientCertificate | undefined =>
  isOfAnotherPage(request) ? undefined : clientCertificateOn(request.raw.socket);
