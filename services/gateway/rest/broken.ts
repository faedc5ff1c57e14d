import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

import { RpcError } from '../../kernel/rpc.js';
import { answerDialect, requestDialect } from './dialects.js';
import type { RequestOrder } from './pipelining.js';
import { rpcFailureOf } from '../status.js';

/** The largest size of all headers of a request together, in bytes. */
export const MAX_HEADER_BYTES = 64 * 1024;

/**
 * The rest of a broken request is read and discarded for this time, in milliseconds: a client that is cut off while it
 * sends does not read the answer.
 */
const LINGER_MS = 1_000;

type Broken = { readonly http: number; readonly failure: RpcError };

const BAD_REQUEST = 400;
const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

const brokenBy = (code: string | undefined): Broken => {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        http: 431,
        failure: new RpcError('RESOURCE_EXHAUSTED', `headers larger than max (${MAX_HEADER_BYTES} bytes)`),
      };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { http: 413, failure: new RpcError('RESOURCE_EXHAUSTED', 'extensions of chunks larger than max') };
    case TIMEOUT:
      return {
        http: 408,
        failure: new RpcError('DEADLINE_EXCEEDED', 'the rest of the request did not arrive in time'),
      };
    default:
      return { http: BAD_REQUEST, failure: new RpcError('INVALID_ARGUMENT', 'malformed HTTP') };
  }
};

const answerTo = ({ http, failure }: Broken): Buffer => {
  const dialect = answerDialect(undefined, requestDialect(undefined));
  const body = dialect.writeFailure(rpcFailureOf(failure));
  const head = [
    `HTTP/1.1 ${http} ${STATUS_CODES[http] ?? ''}`,
    `content-type: ${dialect.mediaType}`,
    `content-length: ${body.length}`,
    'connection: close',
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
};

const codeOf = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? error.code : undefined;

const answer = (socket: Socket, code: string | undefined): void => {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(answerTo(brokenBy(code)));
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(late));
};

/**
 * Makes the handler for requests that cannot be read, because they are malformed, have too large headers or come too
 * slowly: it answers in the form of every other error and closes the connection, after the answers to the requests
 * before it. What follows a request that closes the connection is ignored.
 *
 * @param handshakeMs the time that the headers of a request may take; for a request that waited behind others, also the
 * longest pause in its body.
 */
export const answerBroken = (
  { whenAnswered, whenLate, isBehind }: RequestOrder,
  handshakeMs: number,
): ((error: Error, socket: Socket) => void) => {
  const seen = new WeakSet<Socket>();
  const end = (socket: Socket, code: string | undefined): void => {
    if (seen.has(socket)) return; // the discarded bytes are malformed as well
    seen.add(socket);
    if (code === 'ECONNRESET') socket.destroy();
    else whenAnswered(socket, () => answer(socket, code));
  };
  return (error, socket) => {
    const code = codeOf(error);
    if (code === 'HPE_CLOSED_CONNECTION') return;
    // It is this server that has not read the rest. Node does not report the same request again.
    if (code === TIMEOUT && isBehind(socket)) whenLate(socket, handshakeMs, () => end(socket, code));
    else end(socket, code);
  };
};
