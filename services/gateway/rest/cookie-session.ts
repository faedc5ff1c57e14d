import type { FastifyInstance, FastifyRequest } from 'fastify';

import { RpcError } from '../../kernel/rpc.js';
import type { Hosting } from '../exchange.js';
import { isLink } from './links.js';

/**
 * Our pages send this header with every change. A page of another origin cannot, unless `cors` allows that: browsers
 * ask for permission before they send a header of this kind.
 */
const OUR_PAGE = 'flightlog-csrf';

const READS = ['GET', 'HEAD', 'OPTIONS'];

const isFromOurPage = ({ headers }: FastifyRequest): boolean =>
  headers[OUR_PAGE] !== undefined && (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin';

/** True for a request with a token. Credentials of another kind are for a proxy, and say nothing about the caller. */
const hasOwnToken = ({ headers }: FastifyRequest): boolean =>
  [headers.authorization, headers['grpc-metadata-authorization']].some((value) => /^bearer /iu.test(String(value)));

const forged = (): RpcError =>
  new RpcError(
    'PERMISSION_DENIED',
    `a change by the cookie of a browser session must come from a page of this server, with the header ${OUR_PAGE}`,
  );

/**
 * Gives a request without a token the one of its browser session, so that the dispatch sees a bearer token.
 *
 * @throws {RpcError} PERMISSION_DENIED for a change that another page may have made with the cookie.
 */
const takeSession = async (request: FastifyRequest, { tokenOf }: NonNullable<Hosting['sessions']>): Promise<void> => {
  const token = await tokenOf(request.headers.cookie ?? '');
  if (token === undefined) return;
  if (!READS.includes(request.method) && !isFromOurPage(request)) throw forged();
  request.headers.authorization = `Bearer ${token}`;
};

/** Accepts browser sessions where the process has them. Links to files carry a right of their own. */
export const acceptSessions = (app: FastifyInstance, { sessions }: Hosting): void => {
  if (!sessions) return;
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers.cookie === undefined || hasOwnToken(request) || isLink(request.originalUrl)) done();
    else takeSession(request, sessions).then(() => done(), done);
  });
};
