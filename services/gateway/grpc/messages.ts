import type { ServerHttp2Stream } from 'node:http2';

import { RpcError } from '../../kernel/rpc.js';
import type { GrpcCall } from './call.js';
import { tooLarge, unpack } from './encoding.js';
import { HEAD_BYTES } from './frame.js';
import { type RequestTimer, inflatedBytes, timeRequest } from '../incoming.js';
import type { MemoryReservation, MemoryBudget } from '../memory-budget.js';

/** The memory budget and the size limit of request messages. */
export type RequestLimits = {
  readonly requests: MemoryBudget;
  readonly maxMessageBytes: number;
};

/** The request side of a call that is being received. */
export type Incoming = {
  readonly call: GrpcCall;
  readonly limits: RequestLimits;
  /** The request is one message; its memory is held until the call has ended. */
  readonly isUnary: boolean;
  /** Ends the call with an error when a message stops arriving. */
  readonly refuse: (why: RpcError) => void;
};

/** A message that is partly received. */
type Message = {
  readonly bytes: Buffer;
  readonly isPacked: boolean;
  filled: number;
  readonly reservation?: MemoryReservation;
  readonly arriving?: RequestTimer;
};

const forget = ({ reservation, arriving }: Message): void => {
  arriving?.end();
  reservation?.release();
};

/**
 * Begins a message whose prefix is complete.
 *
 * A message that is not whole in the present chunk, or is compressed, waits until the memory budget admits all of it.
 * A whole uncompressed message is in memory anyway.
 */
const begin = async ({ call, limits, refuse }: Incoming, head: Buffer, rest: number): Promise<Message> => {
  const size = head.readUInt32BE(1);
  const { requests, maxMessageBytes } = limits;
  if (size > maxMessageBytes) throw tooLarge(`${size} vs ${maxMessageBytes}`);
  const isPacked = head[0] === 1;
  if (size <= rest && !isPacked) return { bytes: Buffer.allocUnsafe(size), isPacked, filled: 0 };
  const reservation = requests.open(call.socket);
  call.stream.once('close', reservation.release);
  if (call.stream.destroyed) reservation.release();
  await reservation.reserve(isPacked ? inflatedBytes(size, maxMessageBytes) : size);
  const arriving = timeRequest(requests.limits.stallTimeoutMs, refuse);
  return { bytes: Buffer.allocUnsafe(size), isPacked, filled: 0, reservation, arriving };
};

const fill = (message: Message, chunk: Buffer, at: number): number => {
  const count = chunk.copy(message.bytes, message.filled, at);
  message.filled += count;
  message.arriving?.came();
  return at + count;
};

const finish = ({ bytes, isPacked, arriving }: Message, { call, limits }: Incoming): Buffer | Promise<Buffer> => {
  arriving?.end();
  return isPacked ? unpack(bytes, call.encoding, limits.maxMessageBytes) : bytes;
};

const chunksOf = async function* (stream: ServerHttp2Stream, first: Buffer | undefined): AsyncIterable<Buffer> {
  if (first !== undefined) yield first;
  try {
    // Without this option the end of the requests would end the answers too.
    yield* stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch {
    throw new RpcError('CANCELLED', 'the caller has gone');
  }
};

const noWholeMessage = (): RpcError => new RpcError('INVALID_ARGUMENT', 'no whole message in the request');

/** The part of the next message that has been received. */
type Receiving = { readonly head: Buffer; headBytes: number; message: Message | undefined };

const takeHead = (receiving: Receiving, chunk: Buffer, at: number): number => {
  const count = Math.min(HEAD_BYTES - receiving.headBytes, chunk.length - at);
  chunk.copy(receiving.head, receiving.headBytes, at, at + count);
  receiving.headBytes += count;
  return at + count;
};

/** Yields the messages that are completed by a chunk. */
const messagesIn = async function* (incoming: Incoming, receiving: Receiving, chunk: Buffer): AsyncIterable<Buffer> {
  for (let at = 0; at < chunk.length;) {
    if (receiving.message === undefined) {
      at = takeHead(receiving, chunk, at);
      if (receiving.headBytes < HEAD_BYTES) return;
      receiving.message = await begin(incoming, receiving.head, chunk.length - at);
    }
    const { message } = receiving;
    at = fill(message, chunk, at);
    if (message.filled < message.bytes.length) return;
    receiving.message = undefined;
    receiving.headBytes = 0;
    yield await finish(message, incoming);
    if (!incoming.isUnary) message.reservation?.release();
  }
};

/**
 * Yields the messages of a request, and reads from the stream no faster than they are consumed.
 *
 * @throws {RpcError} INVALID_ARGUMENT when a message is incomplete or not in the announced compression,
 * RESOURCE_EXHAUSTED when it is too large or the memory budget is full, CANCELLED when the client disconnects.
 */
export const messagesOf = async function* (incoming: Incoming, first?: Buffer): AsyncIterable<Buffer> {
  const receiving: Receiving = { head: Buffer.alloc(HEAD_BYTES), headBytes: 0, message: undefined };
  try {
    for await (const chunk of chunksOf(incoming.call.stream, first)) yield* messagesIn(incoming, receiving, chunk);
    if (receiving.headBytes > 0) throw noWholeMessage();
  } finally {
    if (receiving.message !== undefined) forget(receiving.message);
  }
};

const anotherMessage = (): RpcError => new RpcError('INVALID_ARGUMENT', 'more than one message in the request');

const onlyOf = async (messages: AsyncIterable<Buffer>): Promise<Buffer> => {
  let only: Buffer | undefined;
  for await (const message of messages) {
    if (only !== undefined) throw anotherMessage();
    only = message;
  }
  if (only === undefined) throw noWholeMessage();
  return only;
};

/** Copies the message out of a chunk that is exactly one uncompressed message; `undefined` for any other chunk. */
const wholeIn = (chunk: Buffer): Buffer | undefined =>
  chunk[0] === 0 && chunk.length >= HEAD_BYTES && chunk.readUInt32BE(1) === chunk.length - HEAD_BYTES
    ? Buffer.from(chunk.subarray(HEAD_BYTES))
    : undefined;

/**
 * Receives the only message of a request, and resolves when the client has ended the request. When the client
 * disconnects before, the promise may stay pending. Nearly all messages arrive in one chunk and are copied from it; the
 * others are assembled by {@link messagesOf}.
 *
 * @throws {RpcError} the errors of {@link messagesOf}, and INVALID_ARGUMENT when there is not exactly one message.
 */
export const onlyMessage = (incoming: Incoming): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const { stream } = incoming.call;
    let whole: Buffer | undefined;
    const end = (): void => {
      if (whole === undefined) reject(noWholeMessage());
      else resolve(whole);
    };
    const take = (chunk: Buffer): void => {
      if (whole !== undefined) {
        reject(anotherMessage());
        return;
      }
      whole = wholeIn(chunk);
      if (whole !== undefined) return;
      stream.off('data', take).off('end', end).pause();
      onlyOf(messagesOf(incoming, chunk)).then(resolve, reject);
    };
    stream.on('data', take).on('end', end);
  });
