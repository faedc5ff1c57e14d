import type { Socket } from 'node:net';
import type { ServerHttp2Stream } from 'node:http2';

import { type ServerInterceptingCallInterface, status } from '@grpc/grpc-js';

import { RpcError } from '../kernel/rpc.js';
import { type Arriving, inflatedBytes, watchArriving } from './incoming.js';
import type { CallRoom, Room } from './room.js';

/** A call as the library keeps it: the parts that are its own, and are replaced or used here. */
export type LibraryCall = Pick<ServerInterceptingCallInterface, 'sendStatus' | 'getPeer'> & {
  readonly stream: ServerHttp2Stream;
  decoder: { write(data: Buffer): Buffer[] };
  handleDataFrame(data: Buffer): void;
  handleEndEvent: () => void;
};

/** What requests are held to. */
export type RequestLimits = {
  readonly requests: Room;
  readonly maxMessageBytes: number;
  readonly socketOf: (peer: string) => Socket | undefined;
};

/** A message as it stands on the wire: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
const HEAD_BYTES = 5;

/** A message that has begun. */
type Message = { readonly framed: Buffer; filled: number; readonly room?: CallRoom; readonly arriving?: Arriving };

/** What a call has sent that is no whole message yet. */
type Receiving = {
  readonly call: LibraryCall;
  readonly limits: RequestLimits;
  /** One message is all that the call may send, and it is held until it is answered. */
  readonly isUnary: boolean;
  readonly head: Buffer;
  headBytes: number;
  message: Message | undefined;
  /** What came while there was no room for it. */
  held: Buffer | undefined;
  /** The end that came behind what is held. */
  end: (() => void) | undefined;
};

const isCompressed = ({ head }: Receiving): boolean => head[0] === 1;

const sizeOf = ({ head }: Receiving): number => head.readUInt32BE(1);

const forget = (receiving: Receiving): void => {
  receiving.message?.arriving?.end();
  receiving.message?.room?.leave();
  receiving.message = undefined;
  receiving.held = undefined;
};

const refuse = (receiving: Receiving, { code, message }: RpcError): void => {
  forget(receiving);
  receiving.call.sendStatus({ code: status[code], details: message, metadata: null });
};

const begin = (receiving: Receiving, counted: Pick<Message, 'room' | 'arriving'> = {}): Message => {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + sizeOf(receiving));
  receiving.head.copy(framed);
  receiving.message = { framed, filled: HEAD_BYTES, ...counted };
  return receiving.message;
};

const isHeld = ({ held }: Receiving): boolean => held !== undefined;

/** Goes on with what was held while the call waited, and lets it send more unless the library has had enough. */
const goOn = (receiving: Receiving, room: CallRoom): void => {
  const { call, held, limits } = receiving;
  if (held === undefined) return;
  receiving.held = undefined;
  begin(receiving, {
    room,
    arriving: watchArriving(limits.requests.limits.patienceMs, (why) => refuse(receiving, why)),
  });
  call.handleDataFrame(held);
  if (isHeld(receiving)) return;
  receiving.end?.();
  if (receiving.message !== undefined) call.stream.resume();
};

const takeRoom = (receiving: Receiving, rest: Buffer): void => {
  const { call, limits } = receiving;
  const socket = limits.socketOf(call.getPeer());
  if (!socket) return;
  receiving.held = rest;
  call.stream.pause();
  const room = limits.requests.open(socket);
  call.stream.once('close', room.leave);
  const size = sizeOf(receiving);
  room.make(isCompressed(receiving) ? inflatedBytes(size, limits.maxMessageBytes) : size).then(
    () => goOn(receiving, room),
    (thrown: unknown) => {
      room.leave();
      if (thrown instanceof RpcError && thrown.code !== 'CANCELLED') refuse(receiving, thrown);
    },
  );
};

const readHead = (receiving: Receiving, data: Buffer, at: number): number => {
  const count = Math.min(HEAD_BYTES - receiving.headBytes, data.length - at);
  data.copy(receiving.head, receiving.headBytes, at, at + count);
  receiving.headBytes += count;
  return at + count;
};

/** Whether a message may begin: one that has come whole is in memory anyway, unless it is more than it seems. */
const beginsAtOnce = (receiving: Receiving, rest: number): boolean =>
  sizeOf(receiving) <= rest && !isCompressed(receiving);

const readBody = (message: Message, data: Buffer, at: number): number => {
  const count = data.copy(message.framed, message.filled, at);
  message.filled += count;
  message.arriving?.came();
  return at + count;
};

const finish = (receiving: Receiving, { framed, room, arriving }: Message): Buffer => {
  arriving?.end();
  receiving.headBytes = 0;
  receiving.message = undefined;
  if (room && !receiving.isUnary) setImmediate(room.leave);
  return framed;
};

const assertSize = (receiving: Receiving): void => {
  const { maxMessageBytes } = receiving.limits;
  // The library answers with this text.
  if (sizeOf(receiving) > maxMessageBytes)
    throw new Error(`Received message larger than max (${sizeOf(receiving)} vs ${maxMessageBytes})`);
};

const receive = (receiving: Receiving, data: Buffer): Buffer[] => {
  const whole: Buffer[] = [];
  let at = 0;
  while (at < data.length || receiving.message !== undefined) {
    if (receiving.message === undefined) {
      at = readHead(receiving, data, at);
      if (receiving.headBytes < HEAD_BYTES) return whole;
      assertSize(receiving);
      if (!beginsAtOnce(receiving, data.length - at)) {
        takeRoom(receiving, Buffer.from(data.subarray(at)));
        return whole;
      }
    }
    const message = receiving.message ?? begin(receiving);
    at = readBody(message, data, at);
    if (message.filled < message.framed.length) return whole;
    whole.push(finish(receiving, message));
  }
  return whole;
};

const hold = (receiving: Receiving, held: Buffer, data: Buffer): Buffer[] => {
  receiving.held = Buffer.concat([held, data]);
  receiving.call.stream.pause();
  return [];
};

/**
 * Bounds the memory that the requests of a call take: a message that does not come whole in one piece, or comes
 * compressed, waits until there is room for all of it, and is received into memory of its own.
 *
 * The library would keep each piece as it came, whatever its size, and any number of calls could do so.
 */
export const boundRequests = (call: LibraryCall, isUnary: boolean, limits: RequestLimits): void => {
  const head = Buffer.alloc(HEAD_BYTES);
  const end = call.handleEndEvent.bind(call);
  const receiving: Receiving = {
    call,
    limits,
    isUnary,
    head,
    headBytes: 0,
    message: undefined,
    held: undefined,
    end: undefined,
  };
  call.decoder = {
    write: (data) => (receiving.held === undefined ? receive(receiving, data) : hold(receiving, receiving.held, data)),
  };
  call.handleEndEvent = () => {
    if (receiving.held === undefined) end();
    else receiving.end = end;
  };
  call.stream.once('close', () => forget(receiving));
};
