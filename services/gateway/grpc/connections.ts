import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import type { TlsSource } from '../../kernel/ports/tls.js';
import { tlsOptions } from '../exchange.js';

/** Limits and transport security of connections. */
export type ConnectionLimits = {
  /** The maximum of open connections; further ones are closed at once. */
  readonly connections: number;
  /** A connection that has not sent the HTTP/2 preface after this time, in milliseconds, is closed. */
  readonly handshakeMs: number;
  readonly tls?: TlsSource | undefined;
};

/** The open connections of a gRPC server. */
export interface Connections {
  readonly port: number;
  /** Stops accepting connections, and resolves when all open ones have ended. */
  readonly close: () => Promise<void>;
  /** Destroys all open connections. */
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

/** Makes a server that calls `accept` with connections ready for HTTP/2; with TLS, after ALPN has chosen `h2`. */
const serverFor = ({ tls, handshakeMs }: ConnectionLimits, accept: (socket: Socket) => void): NetServer => {
  if (!tls) return createServer({ noDelay: true }, accept);
  const options = { ...tlsOptions(tls.current), ALPNProtocols: ['h2'], handshakeTimeout: handshakeMs, noDelay: true };
  const server = createTlsServer(options, (socket) => {
    if (socket.alpnProtocol === 'h2') accept(socket);
    else socket.destroy();
  });
  tls.onChange((changed) => server.setSecureContext(tlsOptions(changed)));
  return server.on('tlsClientError', (_error, socket) => socket.destroy());
};

/**
 * Accepts connections, and calls `serve` with each that is ready for HTTP/2.
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
    socket.on('error', () => undefined); // an error closes the socket, and 'close' is handled
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
