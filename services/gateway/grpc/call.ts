import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

import { RpcError } from '../../kernel/rpc.js';
import type { Deadline } from '../dispatch/call.js';
import { timeoutOf } from '../dispatch/deadline.js';
import { encodings, isEncoding, type MessageEncoding } from './encoding.js';

/** A call over gRPC: its stream, and what came with its head. */
export type GrpcCall = {
  readonly stream: ServerHttp2Stream;
  readonly socket: Socket;
  /** How its messages are compressed, those that are. */
  readonly encoding: MessageEncoding;
  /** How long the caller waits for the end of it, where that is said. */
  readonly deadline: Deadline | undefined;
  /** The package that the caller knows the service under. */
  readonly callersPackage: string;
  readonly header: (name: string) => string | undefined;
};

/** Serves a call to its end. */
export type GrpcHandler = (call: GrpcCall) => void;

/** Whether nobody waits for an answer any more. */
export const isGone = ({ stream }: Pick<GrpcCall, 'stream'>): boolean => stream.destroyed || stream.closed;

// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: texts are printable ASCII, and others are not passed on
const TEXT = /^[\x20-\x7e]*$/;

/** One header of a request, where it was sent and is a text. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' && TEXT.test(value) ? value : undefined;
};

/**
 * How the messages of a request are compressed.
 *
 * @throws {RpcError} UNIMPLEMENTED when nobody here knows how.
 */
export const encodingOf = (headers: IncomingHttpHeaders): MessageEncoding => {
  const name = headers['grpc-encoding'] ?? 'identity';
  if (isEncoding(name)) return name;
  throw new RpcError(
    'UNIMPLEMENTED',
    `the messages are compressed with "${String(name)}", and not with one of ${encodings.join(', ')}`,
  );
};

/**
 * How long a caller waits for the end of a call; `undefined` when without end.
 *
 * @throws {RpcError} INVALID_ARGUMENT when what is said is no time.
 */
export const deadlineOf = (headers: IncomingHttpHeaders): Deadline | undefined => {
  const said = headers['grpc-timeout'];
  const ms = timeoutOf(said === undefined ? undefined : String(said));
  return ms === undefined ? undefined : { ms, message: 'the deadline of the call has passed' };
};
