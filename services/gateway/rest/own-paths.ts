import type { FastifyInstance } from 'fastify';

import type { Hosting } from '../exchange.js';
import { logFailure } from '../log.js';

/** Hands requests for paths of their own over, unread. */
export const serveOwnPaths = (app: FastifyInstance, { ownPaths, logger }: Hosting): void => {
  if (!ownPaths) return;
  app.addHook('onRequest', (request, reply, done) => {
    const { raw, originalUrl } = request;
    if (!ownPaths.answers(originalUrl.split('?', 1)[0] ?? '')) {
      done();
      return;
    }
    reply.hijack();
    raw.url = originalUrl; // Fastify has routed it elsewhere
    ownPaths.answer(raw, reply.raw).catch((error: unknown) => {
      logFailure(logger, error, { requestId: '', rpc: 'none' });
      reply.raw.destroy();
    });
  });
};
