import type { ServerHttp2Stream } from 'node:http2';

import { HEAD_BYTES } from '../../kernel/encoding/grpc-frame.js';
import { callerDisconnected, RpcError } from '../../kernel/rpc.js';
import { type GrpcCall, isGone } from './call.js';
import { tooLarge, decompress } from './encoding.js';
import { type RequestTimer, inflatedBytes, timeRequest } from '../incoming.js';
import type { MemoryBudget } from '../memory-budget.js';

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
  readonly hasOneMessage: boolean;
  /** Ends the call with an error when a message does not arrive in time. */
  readonly refuse: (error: RpcError) => void;
};

/** A message that is partly received. */
type Message = {
  readonly bytes: Buffer;
  readonly isCompressed: boolean;
  filled: number;
  /** Returns its memory to the budget. The end of the stream does it too. */
  readonly release: () => void;
  readonly arriving: RequestTimer;
};

const forget = ({ release, arriving }: Message): void => {
  arriving.end();
  release();
};

/** The first byte of a message that is not compressed, and of one that is; other values are reserved. */
const PLAIN = 0;
const COMPRESSED = 1;

const isCompressed = (head: Buffer): boolean => head[0] === COMPRESSED;

const assertFlag = ([flag]: Buffer): void => {
  if (flag !== PLAIN && flag !== COMPRESSED)
    throw new RpcError('INVALID_ARGUMENT', `a message begins with the flag ${flag}, and not with 0 or 1`);
};

const sizeIn = (head: Buffer): number => head.readUInt32BE(1);

/**
 * Begins a message that is not whole in the present chunk, or is compressed: it waits until the memory budget admits
 * all of it.
 *
 * @throws {RpcError} RESOURCE_EXHAUSTED when the message is too large or the memory budget stays full, INVALID_ARGUMENT
 * when it has a reserved flag, CANCELLED when the call ends first.
 */
const begin = async ({ call, limits, refuse }: Incoming, head: Buffer): Promise<Message> => {
  assertFlag(head);
  const { requests, maxMessageBytes } = limits;
  const size = sizeIn(head);
  if (size > maxMessageBytes) throw tooLarge(`${size} vs ${maxMessageBytes}`);
  const reservation = requests.open(call.socket);
  const release = (): void => {
    call.stream.off('close', release); // a stream may have any number of messages
    reservation.release();
  };
  call.stream.once('close', release);
  if (call.stream.destroyed) release();
  await reservation.reserve(isCompressed(head) ? inflatedBytes(size, maxMessageBytes) : size);
  const arriving = timeRequest(requests.limits.stallTimeoutMs, refuse);
  return { bytes: Buffer.allocUnsafe(size), isCompressed: isCompressed(head), filled: 0, release, arriving };
};

const fill = (message: Message, chunk: Buffer, at: number): number => {
  const count = chunk.copy(message.bytes, message.filled, at);
  message.filled += count;
  message.arriving.onBytes();
  return at + count;
};

const finish = (message: Message, { call, limits }: Incoming): Buffer | Promise<Buffer> => {
  const { bytes, arriving } = message;
  arriving.end();
  return message.isCompressed ? decompress(bytes, call.encoding, limits.maxMessageBytes) : bytes;
};

const chunksOf = async function* (stream: ServerHttp2Stream, first: Buffer | undefined): AsyncIterable<Buffer> {
  if (first !== undefined) yield first;
  try {
    // Without this option the end of the requests would end the answers too.
    yield* stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch {
    throw callerDisconnected();
  }
};

/** The error of a request that ended too early. The stream reports a reset by the client as an end, too. */
const endedEarly = ({ call }: Incoming): RpcError =>
  isGone(call) ? callerDisconnected() : new RpcError('INVALID_ARGUMENT', 'no whole message in the request');

/** The part of the next message that has been received. */
type Receiving = { readonly head: Buffer; headBytes: number; message: Message | undefined };

const takeHead = (receiving: Receiving, chunk: Buffer, at: number): number => {
  const count = Math.min(HEAD_BYTES - receiving.headBytes, chunk.length - at);
  chunk.copy(receiving.head, receiving.headBytes, at, at + count);
  receiving.headBytes += count;
  return at + count;
};

/** Copies the message that begins at `at` when the chunk has all of it, uncompressed: it is in memory anyway. */
const wholeAt = ({ limits }: Incoming, head: Buffer, chunk: Buffer, at: number): Buffer | undefined => {
  const size = sizeIn(head);
  if (head[0] !== PLAIN || size > chunk.length - at || size > limits.maxMessageBytes) return undefined;
  const message = Buffer.allocUnsafe(size);
  chunk.copy(message, 0, at, at + size);
  return message;
};

/** Yields the messages that are completed by a chunk: whole ones together, before another waits for memory or fails. */
const batchesIn = async function* (
  incoming: Incoming,
  receiving: Receiving,
  chunk: Buffer,
): AsyncIterable<readonly Buffer[]> {
  let whole: Buffer[] = [];
  for (let at = 0; at < chunk.length;) {
    if (receiving.message === undefined) {
      at = takeHead(receiving, chunk, at);
      if (receiving.headBytes < HEAD_BYTES) break;
      const next = wholeAt(incoming, receiving.head, chunk, at);
      if (next !== undefined) {
        whole.push(next);
        at += next.length;
        receiving.headBytes = 0;
        continue;
      }
      if (whole.length > 0) yield whole;
      whole = [];
      receiving.message = await begin(incoming, receiving.head);
    }
    const { message } = receiving;
    at = fill(message, chunk, at);
    if (message.filled < message.bytes.length) break;
    receiving.message = undefined;
    receiving.headBytes = 0;
    yield [await finish(message, incoming)];
    if (!incoming.hasOneMessage) message.release();
  }
  if (whole.length > 0) yield whole;
};

/**
 * Yields the messages of a request in batches of those that have arrived together, and reads from the stream no faster
 * than they are consumed.
 *
 * @throws {RpcError} INVALID_ARGUMENT when a message is incomplete, has a reserved flag or is not in the announced
 * compression, RESOURCE_EXHAUSTED when it is too large or the memory budget stays full, CANCELLED when the client
 * disconnects inside a message.
 */
export const batchesOf = async function* (incoming: Incoming, first?: Buffer): AsyncIterable<readonly Buffer[]> {
  const receiving: Receiving = { head: Buffer.alloc(HEAD_BYTES), headBytes: 0, message: undefined };
  try {
    for await (const chunk of chunksOf(incoming.call.stream, first)) yield* batchesIn(incoming, receiving, chunk);
    if (receiving.headBytes > 0) throw endedEarly(incoming);
  } finally {
    if (receiving.message !== undefined) forget(receiving.message);
  }
};

/**
 * Yields the messages of a request one by one, as {@link batchesOf}.
 *
 * @throws {RpcError} the errors of {@link batchesOf}.
 */
export const receivedMessages = async function* (incoming: Incoming, first?: Buffer): AsyncIterable<Buffer> {
  for await (const batch of batchesOf(incoming, first)) yield* batch;
};

const anotherMessage = (): RpcError => new RpcError('INVALID_ARGUMENT', 'more than one message in the request');

const onlyOf = async (incoming: Incoming, first: Buffer): Promise<Buffer> => {
  let only: Buffer | undefined;
  for await (const message of receivedMessages(incoming, first)) {
    if (only !== undefined) throw anotherMessage();
    only = message;
  }
  if (only === undefined) throw endedEarly(incoming);
  return only;
};

/**
 * Copies the message out of a chunk that is exactly one uncompressed message within the size limit; `undefined` for any
 * other chunk.
 */
const wholeIn = ({ limits }: Incoming, chunk: Buffer): Buffer | undefined => {
  const size = chunk.length - HEAD_BYTES;
  return size >= 0 && size <= limits.maxMessageBytes && chunk[0] === PLAIN && sizeIn(chunk) === size
    ? Buffer.from(chunk.subarray(HEAD_BYTES))
    : undefined;
};

/**
 * Receives the only message of a request, and resolves when the client has ended the request. Nearly all messages
 * arrive in one chunk and are copied from it; the others are assembled by {@link receivedMessages}.
 *
 * @throws {RpcError} the errors of {@link receivedMessages}, and INVALID_ARGUMENT when there is not exactly one
 * message.
 */
export const onlyMessage = (incoming: Incoming): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const { stream } = incoming.call;
    let whole: Buffer | undefined;
    const leave = (): void => reject(callerDisconnected());
    const end = (): void => {
      stream.off('close', leave); // each call is closed: no error is made for one that has arrived
      if (whole === undefined) reject(endedEarly(incoming));
      else resolve(whole);
    };
    const take = (chunk: Buffer): void => {
      if (whole !== undefined) {
        reject(anotherMessage());
        return;
      }
      whole = wholeIn(incoming, chunk);
      if (whole !== undefined) return;
      stream.off('data', take).off('end', end).pause();
      onlyOf(incoming, chunk).then(resolve, reject);
    };
    stream.on('data', take).on('end', end).once('close', leave);
    if (stream.destroyed) leave(); // 'close' may have been emitted
  });
