import type { FastifyInstance } from 'fastify';

import type { Hosting } from '../exchange.js';
import { logFailure } from '../log.js';

/** Passes each request for a path of one of `pathOwners` to that owner, with the body unread. */
export const serveOwnPaths = (app: FastifyInstance, { pathOwners = [], logger }: Hosting): void => {
  if (pathOwners.length === 0) return;
  app.addHook('onRequest', (request, reply, done) => {
    const { raw, originalUrl } = request;
    const path = originalUrl.split('?', 1)[0] ?? '';
    const owner = pathOwners.find((each) => each.answers(path));
    if (!owner) {
      done();
      return;
    }
    reply.hijack();
    raw.url = originalUrl; // Fastify has routed it elsewhere
    owner.answer(raw, reply.raw).catch((error: unknown) => {
      logFailure(logger, error, { requestId: '', rpc: 'none' });
      reply.raw.destroy();
    });
  });
};
