import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { FastifyInstance } from 'fastify';

/** The responses to the latest request of a connection, and to the one before it; there is none once it is answered. */
type Latest = { readonly response: ServerResponse; readonly before: ServerResponse | undefined };

/** The order of the requests of each connection. */
export type RequestOrder = {
  /**
   * Handles the requests of a connection one after the other, as clients that send several without waiting for answers
   * may expect (RFC 9112, 9.3.2): a read sees the write before it. Node would begin all at once. While a request waits,
   * nothing more is read, so that a client cannot queue requests without end.
   */
  readonly keep: (app: FastifyInstance) => void;
  /**
   * Calls back when all requests that have arrived on a connection as a whole are answered; at once when there are none.
   */
  readonly whenAnswered: (socket: Socket, then: () => void) => void;
};

const whenClosed = (response: ServerResponse | undefined, then: () => void): void => {
  if (response === undefined || response.closed) then();
  else response.once('close', then);
};

/** Makes the order of the requests of one server. */
export const requestOrder = (): RequestOrder => {
  const latest = new WeakMap<Socket, Latest>();
  return {
    keep: (app) => {
      app.addHook('onRequest', ({ raw: { socket } }, { raw: response }, done) => {
        const before = latest.get(socket)?.response;
        const isLatest = (): boolean => latest.get(socket)?.response === response;
        latest.set(socket, { response, before });
        response.once('close', () => isLatest() && latest.delete(socket)); // an idle connection keeps no response
        if (before === undefined) {
          done();
          return;
        }
        // Later, because Node goes on reading when it has parsed the rest of this request.
        process.nextTick(() => isLatest() && !before.closed && socket.pause());
        before.once('close', () => {
          if (isLatest()) socket.resume();
          done();
        });
      });
    },
    whenAnswered: (socket, then) => {
      const { response, before } = latest.get(socket) ?? {};
      whenClosed(response?.req.complete === false ? before : response, then);
    },
  };
};
