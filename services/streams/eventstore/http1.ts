import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { StoreUnavailable } from '../../kernel/fault.js';
import type { StreamsLog } from './failed-call.js';
import { nodeGossip, nodeInfo, type ServedNode } from './node.js';

/** What is answered to a request of HTTP/1.1. */
type PlainAnswer = {
  readonly status: number;
  readonly contentType?: 'application/json' | 'text/plain';
  /** Text in UTF-8; empty where there is nothing to say. */
  readonly body: string;
};

const json = (value: unknown): PlainAnswer => ({
  status: 200,
  contentType: 'application/json',
  body: JSON.stringify(value, null, 2),
});

const text = (status: number, body: string): PlainAnswer => ({ status, contentType: 'text/plain', body });

/** Health checks may ask for another status than 204, as those of load balancers that take 200 alone. */
const liveStatus = (query: URLSearchParams): number => {
  const wanted = Number(query.get('liveCode') ?? NaN);
  return Number.isInteger(wanted) && wanted >= 200 && wanted <= 599 ? wanted : 204;
};

const PAGES: Readonly<
  Record<string, (node: ServedNode, query: URLSearchParams) => PlainAnswer | Promise<PlainAnswer>>
> = {
  '/info': () => json(nodeInfo()),
  '/gossip': async (node) => json(await nodeGossip(node)),
  '/health/live': (_node, query) => ({ status: liveStatus(query), body: '' }),
};

/**
 * Answers a request of HTTP/1.1 as a node of EventStoreDB does: https://developers.eventstore.com/server/v23.10/
 *
 * @throws {StoreUnavailable} when the log cannot say where its end is.
 */
const plainAnswer = async (node: ServedNode, method: string, url: string): Promise<PlainAnswer> => {
  const [path = '', query = ''] = url.split('?', 2);
  const page = method === 'GET' || method === 'HEAD' ? PAGES[path] : undefined;
  if (page !== undefined) return page(node, new URLSearchParams(query));
  const pages = Object.keys(PAGES).join(', ');
  return text(404, `not found: this port speaks gRPC over HTTP/2, and over HTTP/1.1 it has GET ${pages} only\n`);
};

const failedAnswer = (thrown: unknown, log: StreamsLog): PlainAnswer => {
  if (thrown instanceof StoreUnavailable) return text(503, 'Server Is Not Ready\n');
  log.error({ err: thrown }, 'a request of HTTP/1.1 to the EventStoreDB protocol has failed');
  return text(500, 'internal error\n');
};

/** Answers one request for each connection, and closes it. */
const answering = (node: ServedNode, log: StreamsLog): Server =>
  createServer(({ method = '', url = '' }, response) => {
    void plainAnswer(node, method, url)
      .catch((thrown: unknown) => failedAnswer(thrown, log))
      .then(({ status, contentType, body }) => {
        const type = contentType && { 'content-type': `${contentType}; charset=utf-8` };
        response.writeHead(status, { ...type, connection: 'close' }).end(body);
      });
  });

/** Speaks HTTP/1.1 over the connections that it is given. */
export const plainHttp = (node: ServedNode, log: StreamsLog): ((socket: Socket) => void) => {
  const server = answering(node, log);
  return (socket) => {
    socket.allowHalfOpen = true; // a client may end its side before it has its answer
    server.emit('connection', socket);
  };
};
