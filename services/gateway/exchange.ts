import type { TlsOptions } from 'node:tls';

import { type DescMessage, toBinary } from '@bufbuild/protobuf';

import type { Answer, Route } from '../kernel/rpc.js';
import type { LinkedFiles } from '../kernel/ports/uploads.js';
import { assertDecodable, decode } from './decode.js';
import type { DispatchedCall, ReceivedRequest } from './dispatch/call.js';
import type { Dispatch } from './dispatch/dispatch.js';
import type { Room } from './room.js';
import type { GatewayLog } from './log.js';
import type { PositionTokens } from './position-token.js';
import type { Check } from './readiness.js';
import { type RouteTable, unimplemented } from './routes.js';

/** What browsers may do for pages of other origins. */
export type Cors = {
  /** `https://console.example.com`, or `*` for all, who then bring no credentials; empty is none. */
  readonly origins: readonly string[];
  /** Headers that requests may have besides those that the interface knows. */
  readonly headers: readonly string[];
};

/** What a server shows and asks for, each in PEM. */
export type Tls = {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Callers must have a certificate of this authority, where it is given. */
  readonly clientCa?: Buffer;
};

/** The same as the platform takes it. */
export const tlsOptions = ({ cert, key, clientCa }: Tls): TlsOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
});

/** A body in JSON, and what it is to be read as. */
export type JsonRequest = {
  /** `AdminService.CreateTask`. */
  readonly rpc: string;
  readonly body: Uint8Array;
  /** Names that the message does not have are refused. */
  readonly isStrict: boolean;
};

/** What a transport needs to serve the interface. */
export type Hosting = {
  readonly routes: RouteTable;
  /** The address or name to listen on. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** The largest request message that is accepted. */
  readonly maxMessageBytes: number;
  /** The connections that are served at a time; more are closed as they come. */
  readonly maxConnections: number;
  /** Within this a connection has begun to speak, in milliseconds; 10 s where it is not given. */
  readonly handshakeMs?: number;
  /** Connections are plain where it is not given. */
  readonly tls?: Tls | undefined;
  /** Where answers wait for their callers; whoever made it closes it. */
  readonly answers: Room;
  /** Where requests are held while they are received and worked on; whoever made it closes it. */
  readonly requests: Room;
  readonly positions: PositionTokens;
  readonly logger: GatewayLog;
  /** How the parts of the process are; asked by health checks. All is well where it is not given. */
  readonly checks?: () => readonly Check[];
  /** What `/metrics` answers, where it is served. */
  readonly metrics?: (() => Promise<{ readonly mediaType: string; readonly body: string }>) | undefined;
  /** Serves the links that this server gives out, where it does. */
  readonly files?: LinkedFiles | undefined;
  /** The way of every call through the interceptors. */
  readonly dispatch: Dispatch;
  /**
   * Reads large bodies away from the thread that serves; all are read there where it is not given.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming the place; RESOURCE_EXHAUSTED when too many wait.
   */
  readonly readJson?: (request: JsonRequest) => Promise<Uint8Array>;
  /** What the description of the interface says of this release. */
  readonly version?: string;
  /** Which pages of other origins may call over REST; none where it is not given. */
  readonly cors?: Cors;
};

/** What {@link Hosting.handshakeMs} is where it is not given. */
export const HANDSHAKE_MS = 10_000;

/** A transport that is listening. */
export interface Listening {
  readonly port: number;
  /** Takes no new calls, waits at most `drainMs` for those on their way, then cuts them off. */
  close(options: { readonly drainMs: number }): Promise<void>;
}

/**
 * A request as its route takes it: decoded, or known to be a message. One that is too large to be looked at between
 * other calls is left as it is.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the bytes are no message of the RPC's.
 */
export const decodeRequest = (route: Route, bytes: Uint8Array): ReceivedRequest => {
  const { input } = route.method;
  if (route.large && bytes.length > route.large.aboveBytes) return bytes;
  if (route.takes === 'message') return decode(input, bytes);
  assertDecodable(input, bytes);
  return bytes;
};

/**
 * Answers a unary call that has gone through all interceptors.
 *
 * @throws {RpcError} UNIMPLEMENTED when nothing answers its RPC.
 */
export const answerUnary = (call: DispatchedCall): Promise<Answer<DescMessage>> => {
  const { endpoint, request } = call;
  const { route } = endpoint;
  if (!route) throw unimplemented(endpoint);
  if (route.large && request instanceof Uint8Array && request.length > route.large.aboveBytes)
    return route.large.handle(request, call);
  return route.handle(request as never, call);
};

/**
 * What an answer takes while it is put together, as a multiple of the bytes that it is made from: those bytes, the
 * message, and the frame or text that is sent.
 */
export const COMPOSING = { bytes: 3, text: 8 } as const;

/** An answer as bytes, whichever form the handler gave it in. */
export const encodeAnswer = (type: DescMessage, answer: Answer<DescMessage>): Uint8Array =>
  answer instanceof Uint8Array ? answer : toBinary(type, answer);
