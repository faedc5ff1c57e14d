import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';

/** A server of another protocol than the expected one. */
export type OtherServer = { readonly address: string; readonly close: () => Promise<void> };

const listening = async (server: Server): Promise<OtherServer> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return {
    address: `127.0.0.1:${typeof bound === 'object' && bound ? bound.port : 0}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

/** Starts a server that accepts connections, and never sends anything. */
export const silentServer = (): Promise<OtherServer> => listening(createServer((socket) => socket.resume()));

/** Starts a web server that answers every request with 200. */
export const httpServer = (): Promise<OtherServer> =>
  listening(createHttpServer((_, response) => response.end('a page')));
