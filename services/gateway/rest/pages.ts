import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Hosting } from '../exchange.js';
import { openApi } from '../openapi/document.js';
import { openApiPage } from '../openapi/page.js';
import { isReady, readiness } from '../readiness.js';
import type { Binding } from './bindings.js';
import { sendBody } from './encoding.js';

/** Answers a path that is no RPC, if it is one of those; says whether it was. */
export type Pages = (request: FastifyRequest, reply: FastifyReply) => boolean;

// Scripts and styles are in the page itself, and it talks to nobody but this server.
const PAGE_POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'";

type Page = { readonly mediaType: string; readonly body: Buffer };

const pagesOf = (hosting: Hosting, bindings: readonly Binding[]): Readonly<Record<string, Page>> => {
  const document = Buffer.from(JSON.stringify(openApi(hosting.routes, bindings, hosting.version ?? 'unknown')));
  const json = { mediaType: 'application/json', body: document };
  const html = { mediaType: 'text/html; charset=utf-8', body: Buffer.from(openApiPage) };
  return { '/openapi.json': json, '/api/v1/openapi': json, '/openapi': html, '/docs': html };
};

type Probed = { readonly status: number; readonly body?: Readonly<Record<string, unknown>> };

const ALIVE: Probed = { status: 200, body: { alive: true } };

const ready = ({ checks = () => [] }: Hosting): Probed => {
  const found = checks();
  return { status: isReady(found) ? 200 : 503, body: readiness(found) };
};

/** The empty one is what load balancers of existing installations ask. */
const probes: Readonly<Record<string, (hosting: Hosting) => Probed>> = {
  '/healthcheck': () => ({ status: 200 }),
  '/healthz': () => ALIVE,
  '/readyz': ready,
};

/** The paths that are no RPC: what load balancers ask, whatever the verb, and the description of the interface. */
export const pages = (hosting: Hosting, bindings: readonly Binding[]): Pages => {
  const all = pagesOf(hosting, bindings);
  return (request, reply) => {
    const path = request.originalUrl.split('?', 1)[0] ?? '';
    const probe = Object.hasOwn(probes, path) ? probes[path] : undefined;
    if (probe) {
      const { status, body } = probe(hosting);
      void reply.status(status).send(body);
      return true;
    }
    const page = request.method === 'GET' && Object.hasOwn(all, path) ? all[path] : undefined;
    if (!page) return false;
    void reply.headers({
      'content-type': page.mediaType,
      'content-security-policy': PAGE_POLICY,
      'x-content-type-options': 'nosniff',
    });
    sendBody(request, reply, page.body);
    return true;
  };
};
