import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

/** The connections of a server that wait for a request, of which nothing has come. */
export type IdleConnections = {
  readonly all: () => readonly Socket[];
  /**
   * Ends them: first waits for the requests of busy clients, whose answers close their connections, then sends the end
   * to the connections that are left and waits until their clients have closed them too. A client that sends a request
   * at the same moment sees the end of its connection, and no reset.
   *
   * @param graceMs the longest time of each of the two waits, in milliseconds.
   */
  readonly end: (graceMs: number) => Promise<void>;
};

const POLL_MS = 5;

/**
 * Lets the server read the requests that have arrived. A connection counts as idle until its request is read, and idle
 * ones are ended: the client could not know whether its request was carried out.
 */
const readArrived = async (): Promise<void> => {
  for (let turn = 0; turn < 2; turn += 1) await nextTurn();
};

/** The requests of a connection that are not answered, and the bytes that were read when the last one was complete. */
type Connection = { inFlight: number; readBytes: number };

/**
 * Calls back when all of a request has been read, before anything is read of the next one, unless both came in one
 * piece. The answer may come earlier, when the request is refused, or later.
 *
 * The parser pushes `null` at that moment. The event 'end' comes only when the handler has read the body, and by then
 * the next request may have begun.
 */
const whenComplete = (request: IncomingMessage, done: () => void): void => {
  const push = request.push.bind(request);
  request.push = (chunk, encoding) => {
    if (chunk === null) done();
    return push(chunk, encoding);
  };
};

/** Watches the connections of a server. Node counts one on which nothing has come yet as active. */
export const idleConnections = (server: Server): IdleConnections => {
  const connections = new Map<Socket, Connection>();
  const add = (socket: Socket): void => {
    connections.set(socket, { inFlight: 0, readBytes: socket.bytesRead });
    socket.once('close', () => connections.delete(socket));
  };
  server.on('connection', add);
  server.on('secureConnection', add);
  server.on('request', (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.inFlight += 1;
    response.once('close', () => (connection.inFlight -= 1));
    whenComplete(request, () => (connection.readBytes = socket.bytesRead));
  });

  const isIdle = ([socket, { inFlight, readBytes }]: [Socket, Connection]): boolean =>
    inFlight === 0 && socket.bytesRead === readBytes;
  const all = (): readonly Socket[] => [...connections].filter(isIdle).map(([socket]) => socket);

  const untilNone = async (ms: number): Promise<void> => {
    const until = performance.now() + ms;
    while (all().length > 0 && performance.now() < until) await pause(POLL_MS);
  };
  return {
    all,
    end: async (graceMs) => {
      await readArrived();
      await untilNone(graceMs);
      await readArrived();
      for (const socket of all()) socket.end();
      await untilNone(graceMs);
    },
  };
};
