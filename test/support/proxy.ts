import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';

/** A way to a server that can be cut, stalled and closed, as networks are. */
export type Proxy = {
  /** `host:port`. */
  readonly address: string;
  /** Breaks every connection. */
  readonly cut: () => void;
  /** Lets nothing more through from the server on the connections that there are, and keeps them. */
  readonly stallAnswers: () => void;
  /** Lets through what was kept back since, in its order. */
  readonly resumeAnswers: () => void;
  /** Breaks every connection and takes no new ones, until it is opened again. */
  readonly shut: () => void;
  readonly open: () => void;
  readonly close: () => Promise<void>;
};

/** Starts a proxy before a server, or before the one that is named for each connection anew. */
export const startProxy = async (target: string | (() => string)): Promise<Proxy> => {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isShut = false;
  const server = createServer((near) => {
    if (isShut) {
      near.destroy();
      return;
    }
    const [host = '', port = ''] = (typeof target === 'string' ? target : target()).split(':');
    const far = connect(Number(port), host);
    const pair = [near, far] as const;
    pairs.add(pair);
    const end = (): void => {
      near.destroy();
      far.destroy();
      pairs.delete(pair);
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  const cut = (): void => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  return {
    address: `127.0.0.1:${typeof bound === 'object' && bound ? bound.port : 0}`,
    cut,
    stallAnswers: () => {
      for (const [near, far] of pairs) far.unpipe(near);
    },
    resumeAnswers: () => {
      for (const [near, far] of pairs) far.unpipe(near).pipe(near);
    },
    shut: () => {
      isShut = true;
      cut();
    },
    open: () => (isShut = false),
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
};
