import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP proxy that serves a server below a path prefix, and nothing else. */
export type PrefixProxy = {
  /** The URL under which clients reach the server through the proxy, without a slash at its end. */
  readonly baseUrl: string;
  /** Names the server to which requests go. */
  readonly forwardTo: (server: string) => void;
  /** The headers of all answers of the server so far. */
  readonly answers: readonly IncomingHttpHeaders[];
  readonly close: () => unknown;
};

/** Starts a proxy that takes the prefix off the paths of requests, and answers 404 to those without it. */
export const startPrefixProxy = async (prefix: string): Promise<PrefixProxy> => {
  const answers: IncomingHttpHeaders[] = [];
  let target = '';
  const server = createServer((incoming, outgoing) => {
    const { url = '', method, headers } = incoming;
    if (!url.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end(`not below ${prefix}: ${url}`);
      return;
    }
    const passed = request(`${target}${url.slice(prefix.length)}`, { method, headers }, (answer) => {
      answers.push(answer.headers);
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}${prefix}`,
    forwardTo: (address) => (target = address),
    answers,
    close: () => server.close(),
  };
};
