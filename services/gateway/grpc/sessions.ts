import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';

/** Hears of each stream that a caller opens. */
export type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, socket: Socket) => void;

/** The HTTP/2 sessions of a server, one for each connection. */
export interface Sessions {
  readonly serve: (socket: Socket) => void;
  /** Tells all callers to open no more streams, and ends each session after its last. */
  readonly leave: () => void;
}

// Metadata above this ends the connection, with all its calls, unless callers are told of it before.
const MAX_HEADERS_BYTES = 65_535;

const OPTIONS = {
  settings: { maxConcurrentStreams: 1_024, maxHeaderListSize: MAX_HEADERS_BYTES },
  maxSessionMemory: Number.MAX_SAFE_INTEGER, // what is held for calls is bounded by the rooms
};

// Whoever does not answer a ping is gone. Nobody is cut off for pinging us.
const PING_EVERY_MS = 60_000;
const PING_TIMEOUT_MS = 20_000;

const ignore = (): void => undefined;

const keepAlive = (session: ServerHttp2Session, socket: Socket): void => {
  const timer = setInterval(() => {
    const late = setTimeout(() => socket.destroy(), PING_TIMEOUT_MS).unref();
    session.ping(() => clearTimeout(late));
  }, PING_EVERY_MS).unref();
  session.once('close', () => clearInterval(timer));
};

/** Speaks HTTP/2 over the connections that it is given. */
export const http2Sessions = (onStream: OnStream): Sessions => {
  const sessions = new Set<ServerHttp2Session>();
  let isLeaving = false;
  return {
    serve: (socket) => {
      const session = performServerHandshake(socket, OPTIONS);
      sessions.add(session);
      session.on('error', ignore); // its streams close, and their calls hear of that
      session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
        onStream(stream, headers, socket),
      );
      session.once('close', () => sessions.delete(session));
      keepAlive(session, socket);
      if (isLeaving) session.close();
    },
    leave: () => {
      isLeaving = true;
      for (const session of sessions) session.close();
    },
  };
};
