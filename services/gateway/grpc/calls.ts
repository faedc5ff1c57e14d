import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';

import { RpcError } from '../../kernel/rpc.js';
import type { Listening } from '../exchange.js';
import { OWN_PACKAGE } from '../rpc-status.js';
import { rpcFailureOf } from '../status.js';
import { refuse, refuseStream } from './answer.js';
import { deadlineOf, messageEncodingOf, type GrpcHandler, asciiHeader } from './call.js';
import { acceptConnections, type ConnectionHosting, type Connections } from './connections.js';
import { encodings } from './encoding.js';
import { http2Sessions, type OnStream, type Http2Sessions } from './sessions.js';

/** The handler of a path, and the package name in the path; by default that of the interface. */
export type Served = { readonly handle: GrpcHandler; readonly callersPackage?: string };

/** Finds the handler of a path, such as `/flyteidl.service.AdminService/GetTask`. */
export type FindHandler = (path: string) => Served | undefined;

/** Answers a GET or HEAD, which is no gRPC call. */
export type AnswerPage = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

const PAGE_METHODS: readonly unknown[] = ['GET', 'HEAD'];

const GRPC = /^application\/grpc(?:$|[+;])/;

/** The HTTP status for a request that is not a gRPC call; `undefined` when it is one. */
const notGrpc = (headers: IncomingHttpHeaders): number | undefined => {
  if (headers[':method'] !== 'POST') return 405;
  return GRPC.test(headers['content-type'] ?? '') ? undefined : 415;
};

const open =
  (find: FindHandler, answerPage?: AnswerPage): OnStream =>
  (stream, headers, socket) => {
    stream.on('error', () => undefined); // an error closes the stream, and 'close' is handled
    if (answerPage && PAGE_METHODS.includes(headers[':method'])) {
      answerPage(stream, headers);
      return;
    }
    const httpStatus = notGrpc(headers);
    if (httpStatus !== undefined) {
      refuseStream(stream, httpStatus);
      return;
    }
    const path = headers[':path'] ?? '';
    const { handle, callersPackage = OWN_PACKAGE } = find(path) ?? {};
    try {
      if (!handle) throw new RpcError('UNIMPLEMENTED', `there is no RPC ${path}`);
      const header = (name: string): string | undefined => asciiHeader(headers, name);
      handle({
        stream,
        socket,
        callersPackage,
        header,
        encoding: messageEncodingOf(headers),
        deadline: deadlineOf(headers),
      });
    } catch (thrown) {
      const accepted = { 'grpc-accept-encoding': encodings.join(',') };
      refuse({ stream, callersPackage }, rpcFailureOf(thrown), accepted);
    }
  };

const shutDown = async (sessions: Http2Sessions, connections: Connections, drainMs: number): Promise<void> => {
  const timer = setTimeout(connections.cut, drainMs);
  const closed = connections.close();
  sessions.shutDown();
  if (drainMs <= 0) connections.cut();
  await closed;
  clearTimeout(timer);
};

/**
 * Listens for gRPC calls, and passes each to the handler of its path:
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * @param answerPage without it, a GET or HEAD gets the status 405.
 * @throws {Error} when the address cannot be listened on.
 */
export const acceptCalls = async (
  hosting: ConnectionHosting,
  find: FindHandler,
  answerPage?: AnswerPage,
): Promise<Listening> => {
  const sessions = http2Sessions(open(find, answerPage));
  const connections = await acceptConnections(hosting, sessions.serve);
  return { port: connections.port, close: ({ drainMs }) => shutDown(sessions, connections, drainMs) };
};
