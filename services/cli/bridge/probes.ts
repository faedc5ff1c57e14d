import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { BridgeMetrics } from '../../metrics/bridge-metrics.js';

const OK = 200;
const NOT_FOUND = 404;
const UNAVAILABLE = 503;

const answerTo = async (path: string, metrics: BridgeMetrics, response: ServerResponse): Promise<void> => {
  if (path === '/metrics') {
    const { mediaType, body } = await metrics.text();
    response.writeHead(OK, { 'content-type': mediaType }).end(body);
  } else if (path === '/healthz') response.writeHead(OK).end('ok\n');
  else if (path === '/readyz') {
    const isReady = metrics.isJoined();
    response.writeHead(isReady ? OK : UNAVAILABLE).end(isReady ? 'joined\n' : 'not joined\n');
  } else response.writeHead(NOT_FOUND).end();
};

/** Serves `/metrics`, `/healthz`, and `/readyz`, which says whether the bridge has joined the control plane. */
export const serveBridgeProbes = async (
  { host, port }: { readonly host: string; readonly port: number },
  metrics: BridgeMetrics,
): Promise<void> => {
  const server = createServer((request, response) => {
    void answerTo(request.url ?? '', metrics, response);
  }).listen(port, host);
  await once(server, 'listening');
};
