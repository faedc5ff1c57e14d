import type { FastifyReply, FastifyRequest } from 'fastify';

import { denied } from '../../kernel/permitted.js';
import type { Identity } from '../../kernel/ports/authentication.js';
import { answerConsole } from '../console/answer.js';
import type { Hosting } from '../exchange.js';
import { openApi } from '../openapi/document.js';
import { type BrowserFile, openApiPage } from '../openapi/page.js';
import { isReady, readiness } from '../readiness.js';
import type { RouteBinding } from './bindings.js';
import { certificateOf } from './client-certificate.js';
import { headerOf } from './request.js';
import { sendBody } from './encoding.js';
import { recordRefusal } from './refusal-audit.js';

/** The requirement of a page: any valid credentials, or the permission to read every project. */
type PageRequirement = 'authenticated' | 'read';

const EVERYWHERE = { project: '', domain: '' };

/**
 * Checks that the caller may open a web page, which is no RPC and so does not pass the dispatch. Without authentication
 * every caller may.
 *
 * @throws {RpcError} UNAUTHENTICATED without valid credentials; PERMISSION_DENIED when the caller may not open the
 * page; UNAVAILABLE when the issuer of its token cannot be reached, or the role bindings are not read yet.
 */
const assertPageAllowed = async (
  { authentication, audit }: Pick<Hosting, 'authentication' | 'audit'>,
  request: FastifyRequest,
  required: PageRequirement,
): Promise<void> => {
  if (!authentication) return;
  let caller: Identity | undefined;
  try {
    const { identity, access } = await authentication.callerOf(
      (name) => headerOf(request, name),
      () => certificateOf(request),
    );
    caller = identity;
    if (required === 'read' && !access.may('read', '', '')) throw denied('read', EVERYWHERE);
  } catch (thrown) {
    recordRefusal(audit, request, thrown, caller);
    throw thrown;
  }
};

/** Answers the request if its path is one of the pages; returns `false` when it is not. */
export type Pages = (request: FastifyRequest, reply: FastifyReply) => boolean;

// Swagger UI needs icons in data URLs and inline styles.
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; frame-ancestors 'none'";

const pagesOf = (hosting: Hosting, bindings: readonly RouteBinding[]): Readonly<Record<string, BrowserFile>> => {
  /**
   * The OpenAPI document. `server` is the URL of this server relative to the document, so that it is also right below
   * the path prefix of a proxy.
   */
  const documentWith = (server: string): BrowserFile => {
    let document: Buffer | undefined; // made for its first reader
    const make = (): Buffer => {
      const described = openApi(hosting.routes, bindings, hosting.version ?? 'unknown');
      return Buffer.from(JSON.stringify({ ...described, servers: [{ url: server }] }));
    };
    return { mediaType: 'application/json', read: () => Promise.resolve((document ??= make())) };
  };
  return { '/openapi.json': documentWith('.'), '/api/v1/openapi': documentWith('../..'), ...openApiPage };
};

/** HEAD is answered as GET; Node leaves the body out. */
const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

const pathOf = ({ originalUrl }: FastifyRequest): string => originalUrl.split('?', 1)[0] ?? '';

type Probed = { readonly status: number; readonly body?: Readonly<Record<string, unknown>> };

const ALIVE: Probed = { status: 200, body: { alive: true } };

const ready = ({ checks = () => [] }: Hosting): Probed => {
  const found = checks();
  return { status: isReady(found) ? 200 : 503, body: readiness(found) };
};

/** Load balancers of existing installations use `/healthcheck`, whose answer has no body. */
const probes: Readonly<Record<string, (hosting: Hosting) => Probed>> = {
  '/healthcheck': () => ({ status: 200 }),
  '/healthz': () => ALIVE,
  '/readyz': ready,
};

const sendPage = async (
  hosting: Hosting,
  {
    request,
    reply,
    page,
  }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly page: BrowserFile },
): Promise<void> => {
  await assertPageAllowed(hosting, request, 'authenticated');
  const body = await page.read();
  void reply.headers({
    'content-type': page.mediaType,
    'content-security-policy': PAGE_POLICY,
    'x-content-type-options': 'nosniff',
  });
  sendBody(request, reply, body);
};

const sendMetrics = async (reply: FastifyReply, metrics: NonNullable<Hosting['metrics']>): Promise<void> => {
  const { mediaType, body } = await metrics();
  void reply.header('content-type', mediaType).send(body);
};

const answerMetrics = (hosting: Hosting, request: FastifyRequest, reply: FastifyReply): boolean => {
  const { metrics } = hosting;
  if (pathOf(request) !== '/metrics' || !isRead(request) || !metrics) return false;
  assertPageAllowed(hosting, request, 'read')
    .then(() => sendMetrics(reply, metrics))
    .catch((error: unknown) => void reply.send(error));
  return true;
};

/** Serves the paths that are not RPCs: health probes, `/metrics`, the console, the OpenAPI document and its page. */
export const pages = (hosting: Hosting, bindings: readonly RouteBinding[]): Pages => {
  const all = pagesOf(hosting, bindings);
  return (request, reply) => {
    const path = pathOf(request);
    const probe = Object.hasOwn(probes, path) ? probes[path] : undefined;
    if (probe) {
      const { status, body } = probe(hosting);
      void reply.status(status).send(body);
      return true;
    }
    if (answerMetrics(hosting, request, reply) || answerConsole(request, reply, { path })) return true;
    const page = isRead(request) && Object.hasOwn(all, path) ? all[path] : undefined;
    if (!page) return false;
    sendPage(hosting, { request, reply, page }).catch((error: unknown) => void reply.send(error));
    return true;
  };
};
