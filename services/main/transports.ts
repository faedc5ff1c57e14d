import type { Logger } from 'pino';
import { answerRoom, requestRoom, type RoomLimits } from '../gateway/room.js';
import { serveGrpc } from '../gateway/grpc.js';
import { positionTokens } from '../gateway/position-token.js';
import { serveHttp } from '../gateway/rest.js';
import { routeTable } from '../gateway/routes.js';
import type { AnyRoute } from '../kernel/rpc.js';
import type { Configuration } from './configuration.js';
import { tlsOf } from './tls-files.js';
import { version } from './version.js';
import type { Uploads } from './uploads.js';

const DRAIN_MS = 10_000;
const ROOM_WAIT_MS = 30_000;
const PATIENCE_MS = 30_000;

/** Both transports, listening. */
export type Transports = {
  /** `host:port`. */
  readonly grpc: string;
  /** A URL. */
  readonly http: string;
  /** Takes no new calls, and finishes those on their way. */
  readonly close: () => Promise<void>;
};

const limitsOf = (totalBytes: number): RoomLimits => ({
  totalBytes,
  perConnectionBytes: totalBytes / 2,
  waitMs: ROOM_WAIT_MS,
  patienceMs: PATIENCE_MS,
});

/** What the transports ask of the process. */
export type Hosted = {
  readonly logId: string;
  readonly logger: Logger;
  readonly uploads: Uploads;
  /** Whether it is current; it is not ready otherwise. */
  readonly isReady: () => boolean;
};

/** Serves the routes over gRPC and REST, as configured. */
export const startTransports = async (
  configuration: Configuration,
  routes: readonly AnyRoute[],
  { logId, logger, uploads, isReady }: Hosted,
): Promise<Transports> => {
  const { host } = configuration;
  const tls = tlsOf(configuration);
  let isOpen = true;
  const answers = answerRoom(limitsOf(configuration.max_unread_bytes));
  const requests = requestRoom(limitsOf(configuration.max_request_bytes));
  const hosting = {
    routes: routeTable(routes),
    host,
    maxMessageBytes: configuration.max_message_bytes,
    maxConnections: configuration.max_connections,
    tls,
    answers,
    requests,
    positions: positionTokens(logId),
    logger,
    isReady: () => isOpen && isReady(),
    version,
    cors: { origins: configuration.cors.allowed_origins, headers: configuration.cors.allowed_headers },
    files: uploads.files,
  };
  const grpc = await serveGrpc({ ...hosting, port: configuration.grpc_port });
  const http = await serveHttp({ ...hosting, port: configuration.http_port });
  const name = host.includes(':') ? `[${host}]` : host;
  const address = `${tls ? 'https' : 'http'}://${name}:${http.port}`;
  uploads.listensAt(address);
  return {
    grpc: `${name}:${grpc.port}`,
    http: address,
    close: async () => {
      isOpen = false;
      await Promise.all([grpc.close({ drainMs: DRAIN_MS }), http.close({ drainMs: DRAIN_MS })]);
      answers.close();
      requests.close();
    },
  };
};
