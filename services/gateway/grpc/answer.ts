import type { ServerHttp2Stream } from 'node:http2';

import { type Incoming, type RequestLimits } from './messages.js';
import { failureTrailer, type Trailer } from './trailer.js';
import { type GrpcCall, isGone } from './call.js';
import { type RpcFailure, rpcFailureOf } from '../status.js';

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };
const BEFORE_MESSAGES = { waitForTrailers: true, sendDate: false };
const ALONE = { endStream: true, sendDate: false };

type Answerable = Pick<GrpcCall, 'stream'>;

/**
 * Destroys a stream after its answer if the client is still sending. Data that is never read would otherwise keep the
 * stream open, and it would count against the concurrent streams of the client.
 */
const hangUp = (stream: ServerHttp2Stream): void => {
  if (!stream.readableEnded) setImmediate(() => stream.destroy());
};

/** Sends the headers that go before messages, unless they are sent already. */
export const beginAnswer = ({ stream }: Answerable): void => {
  if (!stream.headersSent) stream.respond(HEADERS, BEFORE_MESSAGES);
};

const isOver = (call: Answerable): boolean => isGone(call) || call.stream.writableEnded;

/** Ends a call with a trailer; does nothing when it has ended already. */
export const endAnswer = (call: Answerable, trailer: Trailer): void => {
  const { stream } = call;
  if (isOver(call)) return;
  if (stream.headersSent) {
    stream.once('wantTrailers', () => {
      stream.sendTrailers(trailer);
      hangUp(stream);
    });
    stream.end();
  } else {
    stream.respond({ ...HEADERS, ...trailer }, ALONE);
    hangUp(stream);
  }
};

/** Ends a call with its only message and a trailer; does nothing when it has ended already. */
export const answerOnce = (call: Answerable, framed: Buffer, trailer: Trailer): void => {
  const { stream } = call;
  if (isOver(call)) return;
  stream.respond(HEADERS, BEFORE_MESSAGES);
  stream.once('wantTrailers', () => stream.sendTrailers(trailer));
  stream.end(framed);
};

/** Ends a call with an error status; does nothing when it has ended already. */
export const refuse = (
  call: Pick<GrpcCall, 'stream' | 'callersPackage'>,
  failure: RpcFailure,
  further: Trailer = {},
): void => endAnswer(call, { ...failureTrailer(failure, call.callersPackage), ...further });

/** Answers a request that is not a gRPC call with an HTTP status only. */
export const refuseStream = (stream: ServerHttp2Stream, httpStatus: number): void => {
  stream.respond({ ':status': httpStatus }, ALONE);
  hangUp(stream);
};

/** Describes how to receive the messages of a call; the call is refused when a message does not arrive in time. */
export const incoming = (call: GrpcCall, limits: RequestLimits, hasOneMessage: boolean): Incoming => ({
  call,
  limits,
  hasOneMessage,
  refuse: (error) => refuse(call, rpcFailureOf(error)),
});
