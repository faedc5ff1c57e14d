import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';

import { answerBudget, requestBudget } from '../../../services/gateway/memory-budget.js';
import { dispatcher, type Interceptor } from '../../../services/gateway/dispatch/dispatch.js';
import { interceptorsOf } from '../../../services/gateway/dispatch/interceptors.js';
import type { Hosting } from '../../../services/gateway/exchange.js';
import { serveGrpc } from '../../../services/gateway/grpc/server.js';
import { itemAnswers } from '../../../services/gateway/items.js';
import { positionTokens } from '../../../services/gateway/position-token.js';
import { serveHttp } from '../../../services/gateway/rest/server.js';
import { routeTable } from '../../../services/gateway/routes.js';
import type { AnyRoute } from '../../../services/kernel/rpc.js';

export const LOG_ID = 'log-1';

/** A logged line, so that tests can check what callers do not see. */
export type Logged = { readonly level: string; readonly fields: object };

const BUDGET = { perConnectionBytes: 2 ** 27, totalBytes: 2 ** 28, waitMs: 10_000, stallTimeoutMs: 30_000 };

/** Hosting options other than the defaults below, and interceptors that observe the calls. */
type More = Partial<Hosting> & { readonly observers?: readonly Interceptor[] };

/** A server's options: these routes behind all interceptors; what the server logs is added to `logged`. */
const hosting = (routes: readonly AnyRoute[], logged: Logged[] = [], { observers, ...more }: More = {}): Hosting => {
  const positions = positionTokens(LOG_ID);
  const logger = {
    error: (fields: object) => void logged.push({ level: 'error', fields }),
    warn: (fields: object) => void logged.push({ level: 'warn', fields }),
  };
  const table = routeTable(routes);
  const dispatch = dispatcher(interceptorsOf({ logger, positions, ...(observers && { observers }) }));
  return {
    routes: table,
    host: '127.0.0.1',
    port: 0,
    maxMessageBytes: 64 * 1024 * 1024,
    maxConnections: 100,
    answers: answerBudget(BUDGET),
    requests: requestBudget(BUDGET),
    positions,
    dispatch,
    answerItem: itemAnswers({ dispatch, positions, routes: table }),
    logger,
    ...more,
  };
};

/** The result of a unary call over gRPC. */
export type Called = { readonly error?: ServiceError; readonly answer?: Buffer; readonly trailer: Metadata };

const same = (bytes: Buffer): Buffer => bytes;

const metadataOf = (headers: Record<string, string>): Metadata => {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
};

/** A gRPC server of these routes, and a real client of it. */
export const overGrpc = async (routes: readonly AnyRoute[], logged: Logged[] = [], more: More = {}) => {
  const server = await serveGrpc(hosting(routes, logged, more));
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure(), {
    'grpc.max_send_message_length': -1,
  });
  const call = (path: string, request: Uint8Array, headers: Record<string, string> = {}, deadline = Infinity) =>
    new Promise<Called>((resolve) => {
      let result: Pick<Called, 'error' | 'answer'> = {};
      const done = (error: ServiceError | null, answer?: Buffer) => {
        result = { ...(error ? { error } : {}), ...(answer ? { answer } : {}) };
      };
      const unary = client.makeUnaryRequest(
        path,
        same,
        same,
        Buffer.from(request),
        metadataOf(headers),
        { deadline },
        done,
      );
      unary.on('status', ({ metadata }) => setImmediate(() => resolve({ ...result, trailer: metadata })));
    });
  return {
    port: server.port,
    client,
    server,
    call,
    close: async () => {
      client.close();
      await server.close({ drainMs: 0 });
    },
  };
};

/** A REST server of these routes, and `fetch` on it. */
export const overHttp = async (routes: readonly AnyRoute[], logged: Logged[] = [], more: More = {}) => {
  const server = await serveHttp(hosting(routes, logged, more));
  const url = `http://127.0.0.1:${server.port}`;
  return {
    url,
    server,
    get: (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers }),
    send: (method: string, path: string, body?: string | Uint8Array, headers: Record<string, string> = {}) =>
      fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: body as string }) }),
    close: () => server.close({ drainMs: 0 }),
  };
};
