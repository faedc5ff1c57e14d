import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Identity } from '../../kernel/ports/authentication.js';
import { RpcError } from '../../kernel/rpc.js';
import type { Hosting } from '../exchange.js';
import { isLink } from './links.js';
import { recordRefusal } from './refusal-audit.js';

/**
 * The header that pages of flightlog send with every change, for browsers that do not say where a request comes from. A
 * page of another origin cannot send it unless `cors` allows that: a browser asks the server first.
 */
const OUR_PAGE = 'flightlog-csrf';

const READS = ['GET', 'HEAD', 'OPTIONS'];

/** Browsers say where a request comes from with HTTPS and on localhost, and no page can change what they say. */
const isFromOurPage = ({ headers }: FastifyRequest): boolean => {
  const site = headers['sec-fetch-site'];
  return site === undefined ? headers[OUR_PAGE] !== undefined : site === 'same-origin';
};

/**
 * True for a request with a bearer token; the header of `auth.metadata_key` is not looked at. Credentials of another
 * kind are for a proxy, and say nothing about the caller.
 */
const hasOwnToken = ({ headers }: FastifyRequest): boolean =>
  [headers.authorization, headers['grpc-metadata-authorization']].some((value) => /^bearer /iu.test(String(value)));

const forged = (): RpcError =>
  new RpcError(
    'PERMISSION_DENIED',
    `a change by the cookie of a browser session must come from a page of this server (Sec-Fetch-Site: same-origin, or the header ${OUR_PAGE} where the browser does not send that)`,
  );

/** The person whose session was used; `undefined` when its token is no longer valid, or its issuer cannot be asked. */
const identityOf = async (authorization: string, { authentication }: Hosting): Promise<Identity | undefined> => {
  try {
    return (await authentication?.callerOf((name) => (name === 'authorization' ? authorization : undefined)))?.identity;
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
};

/**
 * Gives a request the token of its browser session as its `authorization`, so that the dispatch sees a bearer token.
 *
 * @throws {RpcError} PERMISSION_DENIED for a change that another page may have made with the cookie.
 */
const takeSession = async (request: FastifyRequest, hosting: Hosting): Promise<void> => {
  const token = await hosting.sessions?.tokenOf(request.headers.cookie ?? '');
  if (token === undefined) return;
  const authorization = `Bearer ${token}`;
  if (!READS.includes(request.method) && !isFromOurPage(request)) {
    const refusal = forged();
    recordRefusal(hosting.audit, request, refusal, await identityOf(authorization, hosting));
    throw refusal;
  }
  request.headers.authorization = authorization;
};

/** Accepts browser sessions where the process has them. Links to files carry a right of their own. */
export const acceptSessions = (app: FastifyInstance, hosting: Hosting): void => {
  if (!hosting.sessions) return;
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers.cookie === undefined || hasOwnToken(request) || isLink(request.originalUrl)) done();
    else takeSession(request, hosting).then(() => done(), done);
  });
};
