import { createServer, type Server } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { isLogAway, type ErrorLogger } from './failure.js';
import { nodeGossip, nodeInfo, type ServedNode } from './node.js';

/** The answer to a request that is no gRPC call. */
type PageAnswer = {
  readonly status: number;
  readonly contentType?: 'application/json' | 'text/plain';
  /** UTF-8 text; may be empty. */
  readonly body: string;
};

const json = (value: unknown): PageAnswer => ({
  status: 200,
  contentType: 'application/json',
  body: JSON.stringify(value, null, 2),
});

const text = (status: number, body: string): PageAnswer => ({ status, contentType: 'text/plain', body });

/** The status of `/health/live`: 204, or what `liveCode` asks for, because some load balancers accept only 200. */
const liveStatus = (query: URLSearchParams): number => {
  const wanted = Number(query.get('liveCode') ?? NaN);
  return Number.isInteger(wanted) && wanted >= 200 && wanted <= 599 ? wanted : 204;
};

/** A request of HTTP/1.1, or a GET or HEAD of HTTP/2, and the host that the client has sent. */
type HttpRequest = {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly host: string | undefined;
};

/** A request for a page. */
type PageRequest = { readonly query: URLSearchParams; readonly host: string | undefined };

const PAGES: Readonly<Record<string, (node: ServedNode, request: PageRequest) => PageAnswer | Promise<PageAnswer>>> = {
  '/info': () => json(nodeInfo()),
  '/gossip': async (node, { host }) => json(await nodeGossip(node, host)),
  '/health/live': (_node, { query }) => ({ status: liveStatus(query), body: '' }),
};

/**
 * Answers a request as a node of EventStoreDB does: https://developers.eventstore.com/server/v23.10/
 *
 * @throws {StoreUnavailable} when the head of the log cannot be read.
 */
const answerTo = async (node: ServedNode, { method = '', url = '', host }: HttpRequest): Promise<PageAnswer> => {
  const [path = '', query = ''] = url.split('?', 2);
  const page = ['GET', 'HEAD'].includes(method) && Object.hasOwn(PAGES, path) ? PAGES[path] : undefined;
  if (page !== undefined) return page(node, { query: new URLSearchParams(query), host });
  const pages = Object.keys(PAGES).join(', ');
  return text(404, `not found: this port serves gRPC, and GET of ${pages}\n`);
};

const failedAnswer = (thrown: unknown, logger: ErrorLogger): PageAnswer => {
  if (isLogAway(thrown)) return text(503, 'Server Is Not Ready\n');
  logger.error({ err: thrown }, 'an HTTP request on the EventStoreDB port has failed');
  return text(500, 'internal error\n');
};

const headersOf = ({ contentType }: PageAnswer) => contentType && { 'content-type': `${contentType}; charset=utf-8` };

/** Answers a request, and never throws. */
type Answering = (request: HttpRequest) => Promise<PageAnswer>;

const answering =
  (node: ServedNode, logger: ErrorLogger): Answering =>
  (request) =>
    answerTo(node, request).catch((thrown: unknown) => failedAnswer(thrown, logger));

/** Makes an HTTP/1.1 server that answers one request on each connection and then closes it. */
const http1Server = (answer: Answering): Server =>
  createServer(({ method, url, headers: { host } }, response) => {
    void answer({ method, url, host }).then((page) => {
      response.writeHead(page.status, { ...headersOf(page), connection: 'close' }).end(page.body);
    });
  });

/** Makes a handler that serves HTTP/1.1 on the connections given to it. */
export const http1Handler = (node: ServedNode, logger: ErrorLogger): ((socket: Socket) => void) => {
  const server = http1Server(answering(node, logger));
  return (socket) => {
    socket.allowHalfOpen = true; // a client may end its side before it has the answer
    server.emit('connection', socket);
  };
};

/** Answers a GET or HEAD of HTTP/2. */
export type AnswerPage = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/**
 * Makes a handler that answers as over HTTP/1.1: over TLS, clients such as curl take HTTP/2 where a server offers it.
 */
export const http2Pages = (node: ServedNode, logger: ErrorLogger): AnswerPage => {
  const answer = answering(node, logger);
  return (stream, headers) => {
    const { ':method': method, ':path': url, ':authority': authority, host } = headers;
    void answer({ method, url, host: authority ?? host }).then((page) => {
      if (stream.closed || stream.destroyed) return;
      stream.respond({ ':status': page.status, ...headersOf(page) });
      stream.resume(); // a body is not read
      stream.end(method === 'HEAD' ? '' : page.body, () => stream.close());
    });
  };
};
