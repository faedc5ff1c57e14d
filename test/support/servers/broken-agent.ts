import { EventEmitter, once } from 'node:events';
import { createServer, type ServerHttp2Stream, constants } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';

/** An agent server that breaks every call in one way. */
export type BrokenAgent = {
  readonly endpoint: string;
  /** Resolves when this many calls of an RPC have ended on the server's side, such as by a client that cancels them. */
  readonly left: (rpc: string, calls?: number) => Promise<void>;
  /** Resolves when the next call reaches the server. */
  readonly begun: () => Promise<unknown>;
  readonly close: () => void;
};

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };

/** Frames a message for gRPC; `length`, the length in the header, may be wrong. */
const frame = (message: Uint8Array, length = message.length): Buffer => {
  const head = Buffer.alloc(5); // a flag of one byte, which is 0, and the length
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
};

const EMPTY = frame(new Uint8Array());
/** Bytes that no message is encoded as. */
const NO_MESSAGE = Buffer.from([0x0a, 0xff, 0x01, 0x02]);
/** A length in bytes that the message does not have. */
const HUGE = 1_000_000_000;

const answering = (stream: ServerHttp2Stream, message: Uint8Array): void => {
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.write(message);
};

/** Ends a call with OK. */
const endWell = (stream: ServerHttp2Stream): void => {
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end();
};

/** The treatment of each call, by the way in which the agent is broken; `die` ends all connections. */
const WAYS = {
  'never answers': () => undefined,
  'answers once and then never': (stream: ServerHttp2Stream) => answering(stream, EMPTY),
  'answers what is no message': (stream: ServerHttp2Stream) => {
    answering(stream, frame(NO_MESSAGE));
    endWell(stream);
  },
  'answers a message without an end': (stream: ServerHttp2Stream) => answering(stream, frame(NO_MESSAGE, HUGE)),
  'answers without a status': (stream: ServerHttp2Stream) => {
    stream.respond(HEADERS);
    stream.end(EMPTY);
  },
  'is no server of gRPC': (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 500, 'content-type': 'text/html' });
    stream.end('<html>');
  },
  'resets the call': (stream: ServerHttp2Stream) => {
    answering(stream, EMPTY);
    setImmediate(() => stream.close(constants.NGHTTP2_CANCEL));
  },
  'dies in the middle': (stream: ServerHttp2Stream, die: () => void) => {
    answering(stream, EMPTY);
    setImmediate(die);
  },
  'dies before it answers': (_stream: ServerHttp2Stream, die: () => void) => {
    setImmediate(die);
  },
  'ends before it has read the whole request': (stream: ServerHttp2Stream) => {
    answering(stream, EMPTY);
    endWell(stream);
  },
} as const;

/** A way in which an agent can be broken. */
export type Breakage = keyof typeof WAYS;

/** Starts an agent that breaks every call in the given way. */
export const startBrokenAgent = async (breakage: Breakage): Promise<BrokenAgent> => {
  const sockets = new Set<Socket>();
  const die = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer();
  const calls = new EventEmitter();
  const ended = new Map<string, number>();
  server.on('session', (session) => {
    session.on('error', () => undefined);
    session.on('stream', (stream: ServerHttp2Stream, { ':path': path }) => {
      const rpc = path?.split('/').at(-1) ?? '';
      stream.on('error', () => undefined);
      stream.once('close', () => {
        ended.set(rpc, (ended.get(rpc) ?? 0) + 1);
        calls.emit('ended');
      });
      calls.emit('begun');
      stream.resume();
      WAYS[breakage](stream, die);
    });
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `127.0.0.1:${port}`,
    begun: () => once(calls, 'begun'),
    left: async (rpc, count = 1) => {
      while ((ended.get(rpc) ?? 0) < count) await once(calls, 'ended');
    },
    close: () => {
      die();
      server.close();
    },
  };
};
