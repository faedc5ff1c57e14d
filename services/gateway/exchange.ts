import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TlsOptions } from 'node:tls';

import { type DescMessage, toBinary } from '@bufbuild/protobuf';

import { type Answer, callerDisconnected, type Route } from '../kernel/rpc.js';
import type { Authentication } from '../kernel/ports/authentication.js';
import type { Tls, TlsSource } from '../kernel/ports/tls.js';
import type { LinkedFiles } from '../kernel/ports/uploads.js';
import { assertDecodable, decode } from './decode.js';
import type { AnswerItem, DispatchedCall } from './dispatch/call.js';
import type { ReceivedRequest } from './dispatch/target.js';
import type { Audit } from './dispatch/audit.js';
import type { Dispatch } from './dispatch/dispatch.js';
import type { MemoryBudget } from './memory-budget.js';
import type { GatewayLog } from './log.js';
import type { PositionTokens } from './position-token.js';
import type { Check } from './readiness.js';
import { type RouteTable, unimplemented } from './routes.js';
import { isRead } from './status.js';

/** Settings for browser pages of other origins (CORS). */
export type Cors = {
  /** `https://console.example.com`, or `*` for every origin, then without credentials; empty allows none. */
  readonly origins: readonly string[];
  /** Request headers to allow in addition to those that the interface defines. */
  readonly headers: readonly string[];
};

/** Converts TLS settings to the options of `node:tls`. */
export const tlsOptions = ({ cert, key, clientCa }: Tls): TlsOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
});

/** A JSON body, and the RPC whose request it is. */
export type JsonRequest = {
  /** For example `AdminService.CreateTask`. */
  readonly rpc: string;
  readonly body: Uint8Array;
  /** Refuses field names that the message type does not have. */
  readonly isStrict: boolean;
};

/** Serves some HTTP paths by itself, from the unread request on, such as the endpoints of an authorization server. */
export interface PathOwner {
  /** True for a path of its own, without the query. */
  answers(path: string): boolean;
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** Reads the sessions of browsers. */
export interface CookieSessions {
  /** The access token of the session in a `Cookie` header; `undefined` when there is none that is valid. */
  readonly tokenOf: (cookies: string) => Promise<string | undefined>;
}

/** The settings and services that a transport needs to serve the interface. */
export type Hosting = {
  readonly routes: RouteTable;
  /** The address or name to listen on. */
  readonly host: string;
  /** With 0, the operating system chooses a free port. */
  readonly port: number;
  /** The largest request message that is accepted, in bytes. */
  readonly maxMessageBytes: number;
  /** The maximum of open connections; further ones are closed at once. */
  readonly maxConnections: number;
  /**
   * A connection is closed that has not sent enough after this time, in milliseconds: over gRPC the HTTP/2 preface,
   * over REST all headers of a request. With TLS, its handshake before that may take as long. 10 s by default.
   */
  readonly handshakeMs?: number;
  /** Without it, connections are not encrypted. */
  readonly tls?: TlsSource | undefined;
  /** The memory budget for answers that callers have not read yet. The owner closes it, not the transport. */
  readonly answers: MemoryBudget;
  /** The memory budget for requests that are received or processed. The owner closes it, not the transport. */
  readonly requests: MemoryBudget;
  readonly positions: PositionTokens;
  readonly logger: GatewayLog;
  /** Reports the health of each component, for health checks; without it, the process reports healthy. */
  readonly checks?: () => readonly Check[];
  /** Renders the answer of `/metrics`, where it is served. */
  readonly metrics?: (() => Promise<{ readonly mediaType: string; readonly body: string }>) | undefined;
  /** Serves the upload and download links that this server issues, if it issues any. */
  readonly files?: LinkedFiles | undefined;
  /** Authenticates requests for pages; without it, every caller gets every page. */
  readonly authentication?: Authentication | undefined;
  /** Serve paths that are neither RPCs nor pages of the gateway. */
  readonly pathOwners?: readonly PathOwner[];
  /** Reads browser sessions; without it, cookies mean nothing. */
  readonly sessions?: CookieSessions | undefined;
  /** Records refused requests that reach no RPC; none without it. */
  readonly audit?: Audit | undefined;
  /** Runs every call through the interceptors. */
  readonly dispatch: Dispatch;
  /** Answers the items of calls that carry many requests. */
  readonly answerItem: AnswerItem;
  /**
   * Parses large JSON bodies on another thread, where they are the whole request and its RPC can take bytes; without
   * it, the serving thread parses all of them.
   *
   * @returns the encoded message.
   * @throws {RpcError} INVALID_ARGUMENT when the body cannot be parsed; RESOURCE_EXHAUSTED when too many are queued.
   */
  readonly readJson?: (request: JsonRequest) => Promise<Uint8Array>;
  /** The version of this release, for the OpenAPI document. */
  readonly version?: string;
  /** Allows browser pages of other origins to call over REST; none by default. */
  readonly cors?: Cors;
};

/** The default of {@link Hosting.handshakeMs}. */
export const HANDSHAKE_MS = 10_000;

/** A transport that is listening. */
export interface Listening {
  readonly port: number;
  /** Stops the server: waits at most `drainMs` for the calls in flight, then cuts them off. */
  close(options: { readonly drainMs: number }): Promise<void>;
}

/**
 * Prepares a request for its route: decoded, or validated bytes. A request that its route handles as a large one stays
 * unchecked bytes, because checking it would delay other calls; the handler checks it.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the bytes do not decode as the request type of the RPC.
 */
export const decodeRequest = (route: Route, bytes: Uint8Array): ReceivedRequest => {
  const { input } = route.method;
  if (route.large && bytes.length > route.large.aboveBytes) return bytes;
  if (route.takes === 'message') return decode(input, bytes);
  assertDecodable(input, bytes);
  return bytes;
};

const handle = (call: DispatchedCall): Promise<Answer<DescMessage>> => {
  const { endpoint, request } = call;
  const { route } = endpoint;
  if (!route) throw unimplemented(endpoint);
  if (route.large && request instanceof Uint8Array && request.length > route.large.aboveBytes)
    return route.large.handle(request, call);
  return route.handle(request as never, call);
};

/**
 * Runs the handler of a unary call, after all interceptors. The answer of a read whose caller has gone is not encoded,
 * because that may take longer than the read.
 *
 * @throws {RpcError} UNIMPLEMENTED when its RPC has no handler; of a read, CANCELLED when its caller has gone or its
 *   time is over.
 */
export const answerUnary = async (call: DispatchedCall): Promise<Answer<DescMessage>> => {
  const answer = await handle(call);
  if (call.isCancelled() && isRead(call.endpoint.method)) throw callerDisconnected();
  return answer;
};

/**
 * Memory that an answer takes while it is composed, as a multiple of its source bytes. It covers those bytes, the
 * decoded message, and what is sent: protobuf bytes in a gRPC frame or a REST body (`bytes`), or JSON text (`text`).
 */
export const COMPOSING_FACTORS = { bytes: 3, text: 8 } as const;

/** Encodes an answer, unless the handler has returned encoded bytes already. */
export const encodeAnswer = (type: DescMessage, answer: Answer<DescMessage>): Uint8Array =>
  answer instanceof Uint8Array ? answer : toBinary(type, answer);
