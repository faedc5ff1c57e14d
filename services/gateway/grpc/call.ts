import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

import { RpcError } from '../../kernel/rpc.js';
import type { Deadline } from '../dispatch/call.js';
import { timeoutOf } from '../dispatch/deadline.js';
import { encodings, isEncoding, type MessageEncoding } from './encoding.js';

/** A gRPC call: its HTTP/2 stream, and the values of its headers. */
export type GrpcCall = {
  readonly stream: ServerHttp2Stream;
  readonly socket: Socket;
  /** The compression of those messages whose flag says that they are compressed. */
  readonly encoding: MessageEncoding;
  /** From `grpc-timeout`; `undefined` when the caller sets none. */
  readonly deadline: Deadline | undefined;
  /** The package name by which the caller addresses the service. */
  readonly callersPackage: string;
  readonly header: (name: string) => string | undefined;
};

/** Serves a call to its end. */
export type GrpcHandler = (call: GrpcCall) => void;

/** True when the stream is closed, so that no answer can be sent. */
export const isGone = ({ stream }: Pick<GrpcCall, 'stream'>): boolean => stream.destroyed || stream.closed;

// Header values are printable ASCII: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
const TEXT = /^[\x20-\x7e]*$/;

/** Reads one header of a request; `undefined` when it is absent or not printable ASCII. */
export const asciiHeader = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' && TEXT.test(value) ? value : undefined;
};

/**
 * Reads the compression of the messages of a request from `grpc-encoding`; `identity` by default.
 *
 * @throws {RpcError} UNIMPLEMENTED when the compression is not supported.
 */
export const messageEncodingOf = (headers: IncomingHttpHeaders): MessageEncoding => {
  const name = headers['grpc-encoding'] ?? 'identity';
  if (isEncoding(name)) return name;
  throw new RpcError(
    'UNIMPLEMENTED',
    `the messages are compressed with "${String(name)}", and not with one of ${encodings.join(', ')}`,
  );
};

/**
 * Reads the deadline of a call from `grpc-timeout`; `undefined` when the caller sets none.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the value is not a timeout.
 */
export const deadlineOf = (headers: IncomingHttpHeaders): Deadline | undefined => {
  const timeout = headers['grpc-timeout'];
  const ms = timeoutOf(timeout === undefined ? undefined : String(timeout));
  return ms === undefined ? undefined : { ms, message: 'the deadline of the call has passed' };
};
