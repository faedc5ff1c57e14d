import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { FastifyInstance } from 'fastify';

/**
 * The response to the latest request of a connection, and that to the request before it, which may be closed. Once the
 * latest one is closed, nothing is kept.
 */
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
   * Calls back when all requests that have arrived on a connection as a whole are answered; at once when there are
   * none.
   */
  readonly whenAnswered: (socket: Socket, then: () => void) => void;
  /** True while nothing is read of a connection because a request waits, and for a second after that. */
  readonly isBehind: (socket: Socket) => boolean;
  /**
   * Times a request that has not arrived as a whole, in place of Node. Calls `then` when its headers take longer than
   * `waitMs`, or when nothing of its body comes for that time. Times in which the connection is not read do not count.
   */
  readonly whenLate: (socket: Socket, waitMs: number, then: () => void) => void;
};

const whenClosed = (response: ServerResponse | undefined, then: () => void): void => {
  if (response === undefined || response.closed) then();
  else response.once('close', then);
};

/** After this time, in milliseconds, what has arrived on a connection while it was not read is surely read. */
const CATCH_UP_MS = 1_000;

/** Keeps connections unread: Node reads on after each request that has come as a whole. */
const readingHolds = () => {
  /** The time until which each connection was held. */
  const until = new WeakMap<Socket, number>();
  return {
    hold: (socket: Socket): void => {
      if (!until.has(socket)) socket.on('resume', () => until.get(socket) === Infinity && socket.pause());
      until.set(socket, Infinity);
      socket.pause();
    },
    release: (socket: Socket): void => {
      until.set(socket, performance.now());
      socket.resume();
    },
    isBehind: (socket: Socket): boolean => performance.now() - (until.get(socket) ?? -Infinity) < CATCH_UP_MS,
  };
};

/** Makes the order of the requests of one server. */
export const requestOrder = (): RequestOrder => {
  const latest = new WeakMap<Socket, Latest>();
  /** The number of requests that have arrived on each connection. */
  const arrived = new WeakMap<Socket, number>();
  const reading = readingHolds();
  const isBodyMissing = (socket: Socket): boolean => latest.get(socket)?.response.req.complete === false;
  const whenLate: RequestOrder['whenLate'] = (socket, waitMs, then) => {
    const before = (arrived.get(socket) ?? 0) - Number(isBodyMissing(socket));
    const hasArrived = (): boolean => !isBodyMissing(socket) && (arrived.get(socket) ?? 0) > before;
    let { bytesRead } = socket;
    const check = (): void => {
      if (socket.destroyed || hasArrived()) return;
      const isArriving = isBodyMissing(socket) && socket.bytesRead > bytesRead;
      ({ bytesRead } = socket);
      if (isArriving || reading.isBehind(socket)) setTimeout(check, waitMs).unref();
      else then();
    };
    setTimeout(check, waitMs).unref();
  };
  return {
    keep: (app) => {
      app.addHook('onRequest', ({ raw: { socket } }, { raw: response }, done) => {
        const before = latest.get(socket)?.response;
        const isLatest = (): boolean => latest.get(socket)?.response === response;
        latest.set(socket, { response, before });
        arrived.set(socket, (arrived.get(socket) ?? 0) + 1);
        response.once('close', () => isLatest() && latest.delete(socket)); // an idle connection keeps no response
        if (before === undefined) {
          done();
          return;
        }
        reading.hold(socket);
        before.once('close', () => {
          if (isLatest()) reading.release(socket);
          done();
        });
      });
    },
    whenAnswered: (socket, then) => {
      const { response, before } = latest.get(socket) ?? {};
      whenClosed(response?.req.complete === false ? before : response, then);
    },
    isBehind: reading.isBehind,
    whenLate,
  };
};
