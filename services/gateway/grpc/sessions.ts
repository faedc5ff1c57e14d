import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';

/** Called with each stream that a client opens. */
export type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, socket: Socket) => void;

/** The HTTP/2 sessions of a server, one for each connection. */
export interface Http2Sessions {
  readonly serve: (socket: Socket) => void;
  /** Tells all clients to open no more streams (GOAWAY), and closes each session after its last stream. */
  readonly shutDown: () => void;
}

// Larger metadata would end the connection with all its calls, so the limit is announced to clients in SETTINGS.
const MAX_HEADERS_BYTES = 65_535;

const OPTIONS = {
  settings: { maxConcurrentStreams: 1_024, maxHeaderListSize: MAX_HEADERS_BYTES },
  maxHeaderListPairs: 2_048, // more fields than fit into these bytes; Node's default of 128 is not announced
  maxSessionMemory: Number.MAX_SAFE_INTEGER, // the memory budgets bound what calls hold
  // A connection that cancels more calls than this ends with all its calls. The limits are more than a process can
  // serve: Node's defaults of 1,000 and 33 a second are less than hedging, or a pause of the server, causes. Node 20
  // knows only the defaults.
  streamResetBurst: 100_000,
  streamResetRate: 10_000,
  // A cancelled call is counted until its stream is closed here, so Node may refuse calls that follow at once. Its
  // default is to end the connection after 100 of them.
  maxSessionRejectedStreams: 10_000,
};

// A connection that does not answer a ping in time is closed. Clients may ping the server as often as they like.
const PING_EVERY_MS = 60_000;
const PING_TIMEOUT_MS = 20_000;

const ignore = (): void => undefined;

const keepAlive = (session: ServerHttp2Session, socket: Socket): void => {
  const timer = setInterval(() => {
    if (session.destroyed) {
      socket.destroy(); // the session has ended, but the client has not closed the connection
      return;
    }
    const late = setTimeout(() => socket.destroy(), PING_TIMEOUT_MS).unref();
    session.ping(() => clearTimeout(late));
  }, PING_EVERY_MS).unref();
  session.once('close', () => clearInterval(timer));
};

/** Runs one HTTP/2 session on each connection given to `serve`. */
export const http2Sessions = (onStream: OnStream): Http2Sessions => {
  const sessions = new Set<ServerHttp2Session>();
  let isShuttingDown = false;
  return {
    serve: (socket) => {
      const session = performServerHandshake(socket, OPTIONS);
      sessions.add(session);
      session.on('error', ignore); // an error closes its streams, which ends their calls
      session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
        onStream(stream, headers, socket),
      );
      session.once('close', () => sessions.delete(session));
      keepAlive(session, socket);
      if (isShuttingDown) session.close();
    },
    shutDown: () => {
      isShuttingDown = true;
      for (const session of sessions) session.close();
    },
  };
};
