import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import type { TlsSource } from '../../kernel/ports/tls.js';
import { tlsOptions } from '../exchange.js';

/** Handlers of connections by protocol. The bytes by which the protocol was detected are still unread. */
type ProtocolHandlers = Readonly<Record<'http2' | 'http1', (socket: Socket) => void>>;

// HTTP/2 clients begin with these bytes, HTTP/1.1 requests never: https://www.rfc-editor.org/rfc/rfc9113#section-3.4
const HTTP2_BEGINS = Buffer.from('PRI');

/**
 * Passes a connection to the handler of its protocol, once its first bytes have arrived. A connection that stays silent
 * for `limitMs` is closed, and so is one of HTTP/1.1 that is still open then.
 */
const detectProtocol = (socket: Socket, { http2, http1 }: ProtocolHandlers, limitMs: number): void => {
  const late = setTimeout(() => socket.destroy(), limitMs);
  socket.once('close', () => clearTimeout(late));
  const chooseProtocol = (): void => {
    const bytes = socket.read(HTTP2_BEGINS.length) as Buffer | null;
    if (bytes === null) return; // fewer bytes have arrived
    socket.off('readable', chooseProtocol);
    socket.unshift(bytes);
    if (bytes.equals(HTTP2_BEGINS)) {
      clearTimeout(late);
      http2(socket);
    } else http1(socket);
  };
  socket.on('readable', chooseProtocol);
};

/** The address of a server, and the limits and transport security of its connections. */
export type ConnectionHosting = {
  /** The protocol that is served, as in `gRPC cannot listen on …`. */
  readonly protocol: string;
  readonly host: string;
  /** With 0, the operating system chooses a free port. */
  readonly port: number;
  /** The maximum of open connections; further ones are closed at once. */
  readonly maxConnections: number;
  /**
   * A connection that has not sent the HTTP/2 preface after this time, in milliseconds, is closed. With TLS, the time
   * begins when its handshake is over, which may take as long.
   */
  readonly handshakeMs: number;
  /** Without it, connections are not encrypted. */
  readonly tls?: TlsSource | undefined;
  /** Serves connections of HTTP/1.1; without it, they are closed. */
  readonly http1?: ((socket: Socket) => void) | undefined;
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

const listen = (server: NetServer, { protocol, host, port }: ConnectionHosting): Promise<number> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
      reject(new Error(`${protocol} cannot listen on ${address}: ${error.message}`, { cause: error }));
    };
    server.once('error', fail);
    server.listen({ host, port }, () => {
      server.removeListener('error', fail);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });

/**
 * Makes a server that calls `accept` with each connection; with TLS, after the handshake. Where HTTP/1.1 is not served,
 * a connection with TLS is closed unless ALPN has chosen HTTP/2.
 */
const serverFor = ({ tls, handshakeMs, http1 }: ConnectionHosting, accept: (socket: Socket) => void): NetServer => {
  if (!tls) return createServer({ noDelay: true }, accept);
  const ALPNProtocols = http1 ? ['h2', 'http/1.1'] : ['h2'];
  const options = { ...tlsOptions(tls.current), ALPNProtocols, handshakeTimeout: handshakeMs, noDelay: true };
  const server = createTlsServer(options, (socket) => {
    if (http1 || socket.alpnProtocol === 'h2') accept(socket);
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
  hosting: ConnectionHosting,
  serve: (socket: Socket) => void,
): Promise<Connections> => {
  const { maxConnections, handshakeMs, http1 } = hosting;
  const sockets = new Set<Socket>();
  const server = serverFor(hosting, (socket) => {
    socket.on('error', () => undefined); // an error closes the socket, and 'close' is handled
    closeUnlessHandshaken(socket, handshakeMs);
    if (http1) detectProtocol(socket, { http2: serve, http1 }, handshakeMs);
    else serve(socket);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.maxConnections = maxConnections;
  return {
    port: await listen(server, hosting),
    close: () => new Promise((resolve) => server.close(() => resolve())),
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
};
