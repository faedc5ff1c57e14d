import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';

/** A TCP proxy before a server, whose connections can be broken, stalled and refused, as in a network that fails. */
export type Proxy = {
  /** `host:port`. */
  readonly address: string;
  /** Breaks every connection. */
  readonly cut: () => void;
  /** Holds back all bytes from the server on the open connections, without closing them. */
  readonly stallAnswers: () => void;
  /** Sends the bytes that were held back, in order. */
  readonly resumeAnswers: () => void;
  /** Breaks every connection and refuses new ones, until `open`. */
  readonly shut: () => void;
  /** Accepts connections again. */
  readonly open: () => void;
  readonly close: () => Promise<void>;
};

/** Starts a proxy before a server; a function as `target` chooses the server anew for each connection. */
export const startProxy = async (target: string | (() => string)): Promise<Proxy> => {
  /** The connections: `near` from a client, and `far` to the server. */
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
