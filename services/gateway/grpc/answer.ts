import type { ServerHttp2Stream } from 'node:http2';

import { HEAD_BYTES, type Incoming, type RequestLimits } from './messages.js';
import { failureTrailer, type Trailer } from './trailer.js';
import { type GrpcCall, isGone } from './call.js';
import { type Failure, failureOf } from '../status.js';

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };
const BEFORE_MESSAGES = { waitForTrailers: true, sendDate: false };
const ALONE = { endStream: true, sendDate: false };

type Answerable = Pick<GrpcCall, 'stream'>;

/** A message as it is sent, uncompressed. */
export const frameOf = (message: Uint8Array): Buffer => {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, HEAD_BYTES);
  return framed;
};

/**
 * Tells who is still sending that nothing of it is read any more, when what was answered has been sent. What has come
 * and nobody has read would keep the stream otherwise, and it would count as one of those that the caller has open.
 */
const hangUp = (stream: ServerHttp2Stream): void => {
  if (!stream.readableEnded) setImmediate(() => stream.destroy());
};

/** Says that messages follow, unless it has been said. */
export const beginAnswer = ({ stream }: Answerable): void => {
  if (!stream.headersSent) stream.respond(HEADERS, BEFORE_MESSAGES);
};

const isOver = (call: Answerable): boolean => isGone(call) || call.stream.writableEnded;

/** Ends a call, once; nothing when it has ended. */
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

/** Ends a call with its only message; nothing when it has ended. */
export const answerOnce = (call: Answerable, framed: Buffer, trailer: Trailer): void => {
  const { stream } = call;
  if (isOver(call)) return;
  stream.respond(HEADERS, BEFORE_MESSAGES);
  stream.once('wantTrailers', () => stream.sendTrailers(trailer));
  stream.end(framed);
};

/** Ends a call with what went wrong; nothing when it has ended. */
export const refuse = (
  call: Pick<GrpcCall, 'stream' | 'callersPackage'>,
  failure: Failure,
  further: Trailer = {},
): void => endAnswer(call, { ...failureTrailer(failure, call.callersPackage), ...further });

/** Answers a request that is none of gRPC's. */
export const turnAway = (stream: ServerHttp2Stream, httpStatus: number): void => {
  stream.respond({ ':status': httpStatus }, ALONE);
  hangUp(stream);
};

/** The requests of a call, which is refused when they do not come in time. */
export const incoming = (call: GrpcCall, limits: RequestLimits, isUnary: boolean): Incoming => ({
  call,
  limits,
  isUnary,
  refuse: (why) => refuse(call, failureOf(why)),
});
