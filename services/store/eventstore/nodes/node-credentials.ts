import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { connect, type SecureContext } from 'node:tls';
import { CallCredentials, ChannelCredentials } from '@grpc/grpc-js';

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** Speaks TLS over a connection; certificates are held against `host`, which is named only where it is a name. */
const secured = async (socket: Socket, host: string, secureContext: SecureContext): Promise<Socket> => {
  // Names of servers may not be addresses (RFC 6066, part 3).
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const tls = connect({ socket, host, secureContext, ALPNProtocols: ['h2'], ...servername });
  await once(tls, 'secureConnect');
  return tls;
};

/**
 * How one node is connected to. The library of gRPC names servers by their address where they have no name, and has no
 * way to end a connection whose calls nobody answers.
 */
export class NodeCredentials extends ChannelCredentials {
  readonly #host: string;
  readonly #secureContext: SecureContext | undefined;
  readonly #sockets = new Set<Socket>();

  /** @param host what the certificate of the node has to be of. */
  constructor(host: string, secureContext?: SecureContext) {
    super();
    this.#host = host;
    this.#secureContext = secureContext;
  }

  /** Breaks the connections: calls that are open fail as when the node had ended. */
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
