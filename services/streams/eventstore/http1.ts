import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { isLogAway, type ErrorLogger } from './failure.js';
import { nodeGossip, nodeInfo, type ServedNode } from './node.js';

/** The answer to an HTTP/1.1 request. */
type Http1Answer = {
  readonly status: number;
  readonly contentType?: 'application/json' | 'text/plain';
  /** UTF-8 text; may be empty. */
  readonly body: string;
};

const json = (value: unknown): Http1Answer => ({
  status: 200,
  contentType: 'application/json',
  body: JSON.stringify(value, null, 2),
});

const text = (status: number, body: string): Http1Answer => ({ status, contentType: 'text/plain', body });

/** The status of `/health/live`: 204, or what `liveCode` asks for, because some load balancers accept only 200. */
const liveStatus = (query: URLSearchParams): number => {
  const wanted = Number(query.get('liveCode') ?? NaN);
  return Number.isInteger(wanted) && wanted >= 200 && wanted <= 599 ? wanted : 204;
};

/** A request for a page: its query, and the `Host` that the client has sent. */
type PageRequest = { readonly query: URLSearchParams; readonly host: string | undefined };

const PAGES: Readonly<Record<string, (node: ServedNode, asked: PageRequest) => Http1Answer | Promise<Http1Answer>>> = {
  '/info': () => json(nodeInfo()),
  '/gossip': async (node, { host }) => json(await nodeGossip(node, host)),
  '/health/live': (_node, { query }) => ({ status: liveStatus(query), body: '' }),
};

/**
 * Answers an HTTP/1.1 request as a node of EventStoreDB does: https://developers.eventstore.com/server/v23.10/
 *
 * @throws {StoreUnavailable} when the head of the log cannot be read.
 */
const answerTo = async (
  node: ServedNode,
  { method = '', url = '', headers: { host } }: IncomingMessage,
): Promise<Http1Answer> => {
  const [path = '', query = ''] = url.split('?', 2);
  const page = method === 'GET' || method === 'HEAD' ? PAGES[path] : undefined;
  if (page !== undefined) return page(node, { query: new URLSearchParams(query), host });
  const pages = Object.keys(PAGES).join(', ');
  return text(404, `not found: this port speaks gRPC over HTTP/2, and over HTTP/1.1 it has GET ${pages} only\n`);
};

const failedAnswer = (thrown: unknown, logger: ErrorLogger): Http1Answer => {
  if (isLogAway(thrown)) return text(503, 'Server Is Not Ready\n');
  logger.error({ err: thrown }, 'an HTTP/1.1 request on the EventStoreDB port has failed');
  return text(500, 'internal error\n');
};

/** Makes an HTTP/1.1 server that answers one request on each connection and then closes it. */
const answering = (node: ServedNode, logger: ErrorLogger): Server =>
  createServer((request, response) => {
    void answerTo(node, request)
      .catch((thrown: unknown) => failedAnswer(thrown, logger))
      .then(({ status, contentType, body }) => {
        const type = contentType && { 'content-type': `${contentType}; charset=utf-8` };
        response.writeHead(status, { ...type, connection: 'close' }).end(body);
      });
  });

/** Makes a handler that serves HTTP/1.1 on the connections given to it. */
export const http1Handler = (node: ServedNode, logger: ErrorLogger): ((socket: Socket) => void) => {
  const server = answering(node, logger);
  return (socket) => {
    socket.allowHalfOpen = true; // a client may end its side before it has the answer
    server.emit('connection', socket);
  };
};
