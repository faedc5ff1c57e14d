import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import { type Tls, tlsOptions } from '../exchange.js';

/** What connections are held to. */
export type ConnectionLimits = {
  /** More than these are closed as they come. */
  readonly connections: number;
  /** Within this a connection has said that it speaks HTTP/2, or is closed. */
  readonly handshakeMs: number;
  readonly tls?: Tls | undefined;
};

/** The connections of a gRPC server: bounded and timed. */
export interface Connections {
  readonly port: number;
  /** Accepts no more, and waits until those there are have ended. */
  readonly close: () => Promise<void>;
  /** Ends them all. */
  readonly cut: () => void;
}

// The client's preface and the header of its SETTINGS: https://www.rfc-editor.org/rfc/rfc9113#section-3.4
const HANDSHAKE_BYTES = 24 + 9;

const closeUnlessHandshaken = (socket: Socket, ms: number): void => {
  const timer = setTimeout(() => {
    if (socket.bytesRead < HANDSHAKE_BYTES) socket.destroy();
  }, ms);
  socket.once('close', () => clearTimeout(timer));
};

const listen = (server: NetServer, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
      reject(new Error(`gRPC cannot listen on ${address}: ${error.message}`, { cause: error }));
    };
    server.once('error', fail);
    server.listen({ host, port }, () => {
      server.removeListener('error', fail);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });

/** A server of connections that are ready to speak HTTP/2. */
const serverFor = ({ tls, handshakeMs }: ConnectionLimits, accept: (socket: Socket) => void): NetServer => {
  if (!tls) return createServer({ noDelay: true }, accept);
  const options = { ...tlsOptions(tls), ALPNProtocols: ['h2'], handshakeTimeout: handshakeMs, noDelay: true };
  const server = createTlsServer(options, (socket) => {
    if (socket.alpnProtocol === 'h2') accept(socket);
    else socket.destroy();
  });
  return server.on('tlsClientError', (_error, socket) => socket.destroy());
};

/**
 * Accepts connections, and hands them over when they are ready to speak HTTP/2.
 *
 * @throws {Error} when the address cannot be listened on.
 */
export const acceptConnections = async (
  { host, port }: { readonly host: string; readonly port: number },
  limits: ConnectionLimits,
  serve: (socket: Socket) => void,
): Promise<Connections> => {
  const sockets = new Set<Socket>();
  const server = serverFor(limits, (socket) => {
    socket.on('error', () => undefined); // it closes then, and that is heard of
    closeUnlessHandshaken(socket, limits.handshakeMs);
    serve(socket);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.maxConnections = limits.connections;
  return {
    port: await listen(server, host, port),
    close: () => new Promise((resolve) => server.close(() => resolve())),
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
};
