import { constants, type ServerHttp2Stream } from 'node:http2';

import { drained, type MaxStall } from '../stalled-reader.js';
import { beginAnswer } from './answer.js';
import type { GrpcCall } from './call.js';

/** Sends all messages that are written before the next tick together, because each send has a high fixed cost. */
const cork = (stream: ServerHttp2Stream): void => {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
};

/** Resets a stream whose client does not read; a client that reads later sees the code. */
export const hangUpOn =
  ({ stream }: GrpcCall): (() => void) =>
  () => {
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    stream.destroy();
  };

type Reader = { readonly disconnected: AbortSignal; readonly maxStallMs: MaxStall };

/**
 * Writes framed messages, and waits while the client does not read.
 *
 * @throws {Error} once `disconnected` is aborted, also because the client took too long to read.
 */
export const write = async (
  call: GrpcCall,
  framed: Uint8Array,
  { disconnected: signal, maxStallMs }: Reader,
): Promise<void> => {
  signal.throwIfAborted();
  beginAnswer(call);
  cork(call.stream);
  if (!call.stream.write(framed)) await drained(call.stream, signal, { maxStallMs, hangUp: hangUpOn(call) });
};
