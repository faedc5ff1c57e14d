import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that breaks each connection after a number of bytes of its answers, also in the middle of a message. */
export type CuttingProxy = {
  /** `host:port`. */
  readonly address: string;
  /** The number of connections that were broken so far. */
  readonly cuts: () => number;
  readonly close: () => Promise<void>;
};

type Limits = {
  /** The server of the next connection, as `host:port`. */
  readonly target: () => string;
  /** The number of bytes of answers that the next connection passes on. */
  readonly nextBytes: () => number;
};

/** Passes on this number of bytes, then destroys both sockets and calls `onCut`. */
const passOn = (from: Socket, to: Socket, bytes: number, onCut: () => void): void => {
  let left = bytes;
  from.on('data', (chunk: Buffer) => {
    const passed = chunk.subarray(0, left);
    left -= passed.length;
    if (left > 0) {
      to.write(passed);
      return;
    }
    from.destroy();
    to.end(passed, () => to.destroy());
    onCut();
  });
};

/** Starts the proxy. */
export const startCuttingProxy = async ({ target, nextBytes }: Limits): Promise<CuttingProxy> => {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((near) => {
    const [host = '', port = ''] = target().split(':');
    const far = connect(Number(port), host);
    let isCut = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          if (!isCut) for (const each of [near, far]) each.destroy();
        });
    }
    near.pipe(far);
    passOn(far, near, nextBytes(), () => {
      isCut = true;
      cuts += 1;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return {
    address: `127.0.0.1:${typeof bound === 'object' && bound ? bound.port : 0}`,
    cuts: () => cuts,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
