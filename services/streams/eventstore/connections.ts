import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Tls, TlsSource } from '../../kernel/ports/tls.js';

/** The address to listen on. */
export type ListenAddress = {
  readonly host: string;
  /** With 0, the operating system chooses a free port. */
  readonly port: number;
  /** Without it, connections are not encrypted. */
  readonly tls?: TlsSource | undefined;
};

/** Handlers of connections by protocol. The bytes by which the protocol was detected are still unread. */
export type ProtocolHandlers = Readonly<Record<'http2' | 'http1', (socket: Socket) => void>>;

/** The open connections of the port. */
export interface EventstoreConnections {
  readonly port: number;
  /** Stops accepting connections. */
  readonly leave: () => void;
  /** Destroys all open connections. */
  readonly cut: () => void;
}

/** In milliseconds: the limit for a TLS handshake, for detecting the protocol, and for a whole HTTP/1.1 exchange. */
const CONNECTION_MS = 10_000;

// HTTP/2 clients begin with these bytes, HTTP/1.1 requests never: https://www.rfc-editor.org/rfc/rfc9113#section-3.4
const HTTP2_BEGINS = Buffer.from('PRI');

const dispatchProtocol = (socket: Socket, { http2, http1 }: ProtocolHandlers): void => {
  const late = setTimeout(() => socket.destroy(), CONNECTION_MS);
  socket.once('close', () => clearTimeout(late));
  const look = (): void => {
    const bytes = socket.read(HTTP2_BEGINS.length) as Buffer | null;
    if (bytes === null) return; // fewer bytes have arrived
    socket.off('readable', look);
    socket.unshift(bytes);
    if (bytes.equals(HTTP2_BEGINS)) {
      clearTimeout(late);
      http2(socket);
    } else http1(socket);
  };
  socket.on('readable', look);
};

const certificatesOf = ({ cert, key, clientCa }: Tls) =>
  ({
    cert,
    key,
    minVersion: 'TLSv1.2',
    ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
  }) as const;

const serverFor = (tls: TlsSource | undefined, accept: (socket: Socket) => void): Server => {
  if (tls === undefined) return createServer({ noDelay: true }, accept);
  const options = {
    ...certificatesOf(tls.current),
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: CONNECTION_MS,
    noDelay: true,
  } as const;
  const server = createTlsServer(options, accept);
  tls.onChange((changed) => server.setSecureContext(certificatesOf(changed)));
  return server.on('tlsClientError', (_error, socket) => socket.destroy());
};

const listen = (server: Server, { host, port }: ListenAddress): Promise<number> =>
  new Promise((resolve, reject) => {
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const fail = (error: Error): void =>
      reject(new Error(`the EventStoreDB protocol cannot listen on ${address}: ${error.message}`, { cause: error }));
    server.once('error', fail);
    server.listen({ host, port }, () => {
      server.removeListener('error', fail);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound ? bound.port : port);
    });
  });

/**
 * Accepts connections, and passes each to the handler of its protocol: HTTP/2 and HTTP/1.1 share the port.
 *
 * @throws {Error} when the address cannot be listened on.
 */
export const acceptConnections = async (
  place: ListenAddress,
  speakers: ProtocolHandlers,
): Promise<EventstoreConnections> => {
  const sockets = new Set<Socket>();
  const server = serverFor(place.tls, (socket) => {
    socket.on('error', () => undefined); // an error closes the socket, and 'close' is handled
    dispatchProtocol(socket, speakers);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return {
    port: await listen(server, place),
    leave: () => void server.close(),
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
};
