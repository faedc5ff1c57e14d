import type { Server } from 'node:http';
import type { Server as HttpsServer } from 'node:https';

import {
  fastify,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';

import { HANDSHAKE_MS, type Hosting, type Listening, tlsOptions } from '../exchange.js';
import { logFailure } from '../log.js';
import { answerRequest, requestFault, sendFailure } from './answer.js';
import { bindingTable, readBindings } from './bindings.js';
import { answerBroken, MAX_HEADER_BYTES } from './broken.js';
import { type IdleConnections, idleConnections } from './connections.js';
import { acceptSessions } from './cookie-session.js';
import { allowOrigins } from './cors.js';
import { takeCompressedBodies } from './encoding.js';
import { boundBodies, meterBodies } from './incoming.js';
import { routed, serveLinks } from './links.js';
import { pages } from './pages.js';
import { requestOrder } from './pipelining.js';
import { pathAndQuery } from './request-target.js';

/** Passes each request for a path of one of `pathOwners` to that owner, with the body unread. */
const serveOwnPaths = (app: FastifyInstance, { pathOwners = [], logger }: Hosting): void => {
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

// In milliseconds: a connection that has not sent its whole request after this time is closed.
const REQUEST_MS = 300_000;
const CHECKS_IN_HANDSHAKE = 4;
// A media type by RFC 6838; a Content-Type that does not match is ignored.
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+\s*(?:;|$)/;

const DISCARDED_MESSAGES = 4;

const refuseSchemas = (): never => {
  throw new Error('routes have no JSON schemas: messages are checked by their descriptors');
};

/** Keeps Fastify from loading its compilers of JSON schemas at the start. */
const NO_SCHEMAS = { buildValidator: () => refuseSchemas, buildSerializer: () => refuseSchemas };

/**
 * Reads and discards the rest of a refused request: if the connection were closed while the client sends, the client
 * would not read the answer. A client that sends more than four times the largest message is cut off.
 */
const discardRequestBody = (request: FastifyRequest, reply: FastifyReply, maxMessageBytes: number): void => {
  void reply.removeHeader('connection');
  let left = DISCARDED_MESSAGES * maxMessageBytes;
  request.raw.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.raw.destroy();
  });
};

const parseBodiesAsBytes = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    if (!MEDIA_TYPE.test(headers['content-type'] ?? '')) delete headers['content-type'];
    done();
  });
};

/**
 * During shutdown, closes each connection after its answer: the server would wait for one that is kept alive. A request
 * on a connection that the server has ended, or the client has left, is not carried out, because it cannot be answered.
 */
const closeConnectionsAfterAnswer = (app: FastifyInstance, isClosing: () => boolean): void => {
  app.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    if (socket.writable) {
      done();
      return;
    }
    reply.hijack();
    socket.destroy();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing()) reply.header('connection', 'close');
    done();
  });
};

const open = (hosting: Hosting, isClosing: () => boolean): FastifyInstance => {
  const { handshakeMs = HANDSHAKE_MS, tls } = hosting;
  const order = requestOrder();
  const server = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: handshakeMs,
    connectionsCheckingInterval: handshakeMs / CHECKS_IN_HANDSHAKE,
  };
  const app = fastify({
    bodyLimit: hosting.maxMessageBytes,
    requestTimeout: REQUEST_MS,
    ...(tls ? { https: { ...server, ...tlsOptions(tls.current), handshakeTimeout: handshakeMs } } : { http: server }),
    forceCloseConnections: 'idle',
    return503OnClosing: false, // what is still read is answered
    clientErrorHandler: answerBroken(order, handshakeMs),
    // Not routed by Fastify: a path is decoded before it is split, and 501 is answered for another verb (ADR 0032).
    rewriteUrl: (request) => {
      const url = pathAndQuery(request);
      Object.assign(request, { originalUrl: url }); // which Fastify has set to the target as it came
      return hosting.files ? routed(url) : '/';
    },
    schemaController: { compilersFactory: NO_SCHEMAS },
  } as FastifyHttpOptions<Server>);
  tls?.onChange((changed) => (app.server as unknown as HttpsServer).setSecureContext(tlsOptions(changed)));
  app.server.maxConnections = hosting.maxConnections;
  order.keep(app);
  closeConnectionsAfterAnswer(app, isClosing);
  serveOwnPaths(app, hosting);
  acceptSessions(app, hosting);
  parseBodiesAsBytes(app);
  boundBodies(app, hosting);
  takeCompressedBodies(app);
  meterBodies(app, hosting);
  allowOrigins(app, hosting.cors);
  const declared = readBindings(hosting.routes);
  const bindings = bindingTable(declared);
  const answerPage = pages(hosting, declared);
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    if (answerPage(request, reply)) return reply;
    await answerRequest(request, reply, { bindings, hosting });
    return reply;
  };
  if (hosting.files) serveLinks(app, hosting.files);
  app.all('/', answer);
  app.setNotFoundHandler(answer);
  app.setErrorHandler((error, request, reply) => {
    const thrown = requestFault(error, hosting.maxMessageBytes);
    logFailure(hosting.logger, thrown, { requestId: '', rpc: 'none' });
    discardRequestBody(request, reply, hosting.maxMessageBytes);
    sendFailure(request, reply, thrown);
  });
  return app;
};

const IDLE_CHECK_MS = 50;

/** The time in milliseconds for the next request of a busy client; its answer closes the connection. */
const GRACE_MS = 50;

/** Stops a server; what is still open after `drainMs` is cut off, also what a client opens at the last moment. */
const close = async (app: FastifyInstance, idle: IdleConnections, drainMs: number): Promise<void> => {
  const until = performance.now() + drainMs;
  await idle.end(Math.min(GRACE_MS, drainMs / 2)); // two waits, each of at most this time
  const closeIdle = (): void => {
    if (performance.now() < until) for (const socket of idle.all()) socket.destroy();
    else app.server.closeAllConnections();
  };
  const timers = [setInterval(closeIdle, IDLE_CHECK_MS), setTimeout(closeIdle, Math.max(0, until - performance.now()))];
  await app.close();
  timers.forEach(clearInterval);
};

/**
 * Serves every RPC that has an HTTP binding over REST, as JSON in both spellings or as protobuf bytes. The bindings are
 * read from the descriptors at start.
 *
 * @throws {Error} when the address cannot be listened on.
 */
export const serveHttp = async (hosting: Hosting): Promise<Listening> => {
  let isClosing = false;
  const app = open(hosting, () => isClosing);
  const idle = idleConnections(app.server);
  await app.listen({ host: hosting.host, port: hosting.port });
  const address = app.server.address();
  const port = typeof address === 'object' && address ? address.port : hosting.port;
  return {
    port,
    close: async ({ drainMs }) => {
      isClosing = true;
      await close(app, idle, drainMs);
    },
  };
};
