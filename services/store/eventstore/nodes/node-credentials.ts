import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { connect, type ConnectionOptions, type SecureContext } from 'node:tls';
import { CallCredentials, ChannelCredentials } from '@grpc/grpc-js';

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/**
 * The options of a TLS connection whose certificate must be for `host`, which is sent to the server if it is a name.
 */
export const tlsOptions = (host: string, secureContext: SecureContext): ConnectionOptions => ({
  host,
  secureContext,
  ALPNProtocols: ['h2'],
  ...(isIP(host) === 0 && { servername: host }), // server names (SNI) must not be IP addresses (RFC 6066, section 3)
});

/** Starts TLS on a connection. */
const secured = async (socket: Socket, host: string, secureContext: SecureContext): Promise<Socket> => {
  const tls = connect({ socket, ...tlsOptions(host, secureContext) });
  await once(tls, 'secureConnect');
  return tls;
};

/**
 * Channel credentials that open the connections to one node. Those of `@grpc/grpc-js` send an address as the server
 * name when there is no name, and cannot end a connection whose calls are not answered.
 */
export class NodeCredentials extends ChannelCredentials {
  readonly #host: string;
  readonly #secureContext: SecureContext | undefined;
  readonly #sockets = new Set<Socket>();

  /** @param host the name or address that the certificate of the node must be for. */
  constructor(host: string, secureContext?: SecureContext) {
    super();
    this.#host = host;
    this.#secureContext = secureContext;
  }

  /**
   * Breaks the connections: open calls fail as if the node had ended. May be called while a call on them is ending,
   * because a socket closes in a later turn of the event loop; an HTTP/2 session must not be destroyed there.
   */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  override _isSecure(): boolean {
    return this.#secureContext !== undefined;
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(_target: unknown, _options: unknown, calls?: CallCredentials): Connector {
    return {
      connect: async (socket) => {
        this.#sockets.add(socket);
        socket.once('close', () => this.#sockets.delete(socket));
        if (this.#secureContext === undefined) return { socket, secure: false };
        return { socket: await secured(socket, this.#host, this.#secureContext), secure: true };
      },
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => calls ?? CallCredentials.createEmpty(),
      destroy: () => undefined,
    };
  }
}
