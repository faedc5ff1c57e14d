import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { status } from '@grpc/grpc-js';

/**
 * The result of a call. `OPEN` is a call that had not ended when the client left it, `RESET` one that ended without a
 * status.
 */
export type RawAnswer = {
  readonly code: keyof typeof status | 'OPEN' | 'RESET';
  readonly message: string;
  readonly messages: readonly Buffer[];
};

/** A call, with the bytes to send and the time to leave it. */
export type RawCall = {
  /** The request body, with its gRPC frames. */
  readonly body: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves the call after the first message for which this returns true. */
  readonly isEnough?: (message: Buffer) => boolean;
  /** True when the client does not end its side of the call before it leaves. */
  readonly staysOpen?: boolean;
};

/** The size of the header of a gRPC frame: a flag of one byte, and a length of four. */
const FRAME_HEADER_BYTES = 5;

/** Frames a message for gRPC; `flag` is 1 for a compressed message, and `length` may be wrong on purpose. */
export const framed = (message: Uint8Array, flag = 0, length = message.length): Buffer => {
  const head = Buffer.alloc(FRAME_HEADER_BYTES);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
};

/** Opens a call and leaves it open. */
export const openRaw = (
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): ClientHttp2Stream =>
  session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });

/** Splits the received bytes into complete messages and the rest. */
const messagesIn = (received: Buffer): { readonly messages: readonly Buffer[]; readonly rest: Buffer } => {
  const messages: Buffer[] = [];
  let rest = received;
  while (rest.length >= FRAME_HEADER_BYTES && rest.length >= FRAME_HEADER_BYTES + rest.readUInt32BE(1)) {
    const end = FRAME_HEADER_BYTES + rest.readUInt32BE(1);
    messages.push(rest.subarray(FRAME_HEADER_BYTES, end));
    rest = rest.subarray(end);
  }
  return { messages, rest };
};

type Trailers = Readonly<Record<string, string | string[] | undefined>>;

const codeIn = (trailers: Trailers): RawAnswer['code'] =>
  status[Number(trailers['grpc-status'])] as keyof typeof status;

const messageIn = (trailers: Trailers): string => decodeURIComponent([trailers['grpc-message'] ?? ''].join());

/** Makes a call with any bytes, and returns its result. */
export const callRaw = (
  session: ClientHttp2Session,
  path: string,
  { body, headers, isEnough = () => false, staysOpen = false }: RawCall,
): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const stream = openRaw(session, path, headers);
    const messages: Buffer[] = [];
    let trailers: Trailers = {};
    let rest: Buffer = Buffer.alloc(0);
    /** Keeps the headers that have the status: the trailers, or the only headers of a call without messages. */
    const keepStatus = (received: Trailers): void => {
      if (received['grpc-status'] !== undefined) trailers = received;
    };
    stream.on('response', keepStatus);
    stream.on('trailers', keepStatus);
    stream.on('data', (bytes: Buffer) => {
      const found = messagesIn(Buffer.concat([rest, bytes]));
      rest = found.rest;
      messages.push(...found.messages);
      if (!found.messages.some(isEnough)) return;
      resolve({ code: 'OPEN', message: '', messages });
      stream.close(constants.NGHTTP2_CANCEL);
    });
    stream.on('error', () => undefined); // `close` follows and handles it
    stream.on('close', () => {
      const code = trailers['grpc-status'] === undefined ? 'RESET' : codeIn(trailers);
      resolve({ code, message: messageIn(trailers), messages });
    });
    if (staysOpen) stream.write(body);
    else stream.end(body);
  });
