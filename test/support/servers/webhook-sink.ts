import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the server has received whole. */
export type ReceivedPost = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string };

/** A running web server, and the posts that it has received. */
export type WebhookSink = {
  readonly url: string;
  readonly posts: readonly ReceivedPost[];
  readonly close: () => Promise<void>;
};

/** The server's answers, by path; a path that is not here is answered 204. */
const ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/broken': (response) => response.writeHead(500).end('it is broken'),
  '/busy': (response) => response.writeHead(429, { 'retry-after': '120' }).end('slow down'),
  '/gone': (response) => response.writeHead(410).end('no such hook'),
  // To this server itself, at its private address: a client that followed would be seen here.
  '/moved': (response) => response.writeHead(302, { location: '/inside' }).end(),
  '/stalled': () => undefined,
  '/dropped': (response) => response.destroy(),
};

/** A web server that records what is posted to it. */
export const webhookSink = async (): Promise<WebhookSink> => {
  const posts: ReceivedPost[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      const path = request.url ?? '';
      posts.push({ path, headers: request.headers, body });
      const answer = ANSWERS[path];
      if (answer) answer(response);
      else response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
