import { type DescMethod, toBinary } from '@bufbuild/protobuf';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { NO_TOKEN, UNKNOWN_CERTIFICATE } from '../../kernel/ports/authentication.js';
import { certificateOf } from './client-certificate.js';
import { callerDisconnected, type FollowRoute, RpcError, type StreamRoute } from '../../kernel/rpc.js';
import { type Deadline, type DispatchedCall, noteOf, openCall, type ReceivedCall } from '../dispatch/call.js';
import type { ReceivedRequest } from '../dispatch/target.js';
import { timeoutOf } from '../dispatch/deadline.js';
import type { Sent } from '../dispatch/dispatch.js';
import { lazyReservation } from '../memory-budget.js';
import { answerUnary, COMPOSING_FACTORS, decodeRequest, type Hosting } from '../exchange.js';
import { logFailure } from '../log.js';
import type { Bindings } from './bindings.js';
import { sendBody } from './encoding.js';
import { answerDialect, type Dialect, requestDialect } from './dialects.js';
import { ignoredIn, ignoredText } from './parameters.js';
import { address, type Addressed, bodyOf, headerOf, largeRequest, readRequest, requestBytes } from './request.js';
import { unimplemented } from '../routes.js';
import { OWN_PACKAGE } from '../rpc-status.js';
import { sendEvents } from './server-sent-events.js';
import { answerStream, bodyMessages, withLastEventId } from './stream.js';
import { rpcFailureOf, statuses } from '../status.js';
import { userHeaders } from './user-headers.js';

const dialectsOf = (request: FastifyRequest): { read: Dialect; write: Dialect } => {
  const read = requestDialect(request.headers['content-type']);
  return { read, write: answerDialect(request.headers.accept, read) };
};

type Reply = { readonly request: FastifyRequest; readonly reply: FastifyReply };

/** Sends bytes: for text, Fastify adds a charset to the media type, which clients compare. */
const send = ({ request, reply }: Reply, dialect: Dialect, body: Buffer): void => {
  void reply.header('content-type', dialect.mediaType);
  sendBody(request, reply, body);
};

const sendNotes = (reply: FastifyReply, call: DispatchedCall | undefined, { positions }: Hosting): void => {
  for (const [name, value] of call === undefined ? [] : noteOf(call, positions))
    void reply.headers({ [name]: value, [`grpc-metadata-${name}`]: value });
};

/** Adds a header that lists the query parameters without effect, if there are any. */
const sendIgnored = (reply: FastifyReply, { query, match }: Addressed): void => {
  const ignored = ignoredIn(query, match);
  if (ignored.length > 0) void reply.header('flightlog-ignored', ignoredText(ignored));
};

/** Converts a text to a valid header value: one line of printable ASCII, at most 1,000 characters. */
const headerText = (text: string): string => text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 1_000);

/** The challenge of RFC 6750; without the reason where the request has no token at all. */
const challenge = (reason: string): string =>
  reason === NO_TOKEN || reason === UNKNOWN_CERTIFICATE
    ? 'Bearer realm="flightlog"'
    : `Bearer realm="flightlog", error="invalid_token", error_description="${headerText(reason).replace(/["\\]/gu, "'")}"`;

/** Answers a failed request with the HTTP status and a `google.rpc.Status` in the caller's dialect. */
export const sendFailure = (
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
  method?: DescMethod,
): void => {
  const failure = rpcFailureOf(thrown, method);
  if (failure.retryAfterMs !== undefined) void reply.header('retry-after', Math.ceil(failure.retryAfterMs / 1_000));
  void reply.status(statuses[failure.code].http);
  if (failure.code === 'UNAUTHENTICATED') void reply.header('www-authenticate', challenge(failure.message));
  const { write } = dialectsOf(request);
  send({ request, reply }, write, write.writeFailure(failure));
};

/** A REST request, its reply, and the RPC that it addresses. */
type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly addressed: Addressed };

const requestIn = async ({ request, addressed }: Exchange, hosting: Hosting): Promise<ReceivedRequest | undefined> => {
  const { binding } = addressed.match;
  const { endpoint } = binding;
  const { route, stream } = endpoint;
  if (stream?.takes === 'follow') {
    const message = readRequest(request, addressed, dialectsOf(request).read);
    return toBinary(endpoint.method.input, withLastEventId(endpoint, message, headerOf(request, 'last-event-id')));
  }
  if (stream) return undefined; // the messages of a stream are read one by one
  if (!route) throw unimplemented(endpoint);
  const dialect = dialectsOf(request).read;
  const large = await largeRequest(request, addressed, { dialect, hosting });
  if (large) return decodeRequest(route, large);
  const message = readRequest(request, addressed, dialect);
  return route.takes === 'bytes' ? decodeRequest(route, requestBytes(binding, message)) : message;
};

const receive = async (exchange: Exchange, hosting: Hosting): Promise<ReceivedCall> => ({
  request: await requestIn(exchange, hosting),
  bytes: bodyOf(exchange.request).length,
});

const disconnectSignal = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  if (reply.raw.destroyed) controller.abort();
  reply.raw.once('close', () => controller.abort());
  return controller.signal;
};

/** Sends the answers of an RPC that follows the log, as Server-Sent Events. */
const sendFollowed = (
  { follow, maxStallMs }: FollowRoute,
  call: DispatchedCall,
  reply: FastifyReply,
): Promise<Sent> => {
  const disconnected = disconnectSignal(reply);
  return sendEvents(reply, follow(call.request as Uint8Array, call, { form: 'events', disconnected }), {
    disconnected,
    maxStallMs,
  });
};

const streamBody = (
  stream: StreamRoute,
  call: DispatchedCall,
  { exchange: { request, reply, addressed }, hosting }: { readonly exchange: Exchange; readonly hosting: Hosting },
): Promise<Buffer> => {
  const { endpoint } = call;
  const dialects = dialectsOf(request);
  const messages = addressed.match.binding.hasBody
    ? bodyMessages(endpoint, bodyOf(request), dialects.read)
    : [readRequest(request, addressed, dialects.read)];
  const { maxMessageBytes: maxBytes } = hosting;
  return answerStream({ endpoint, stream, messages, call, dialects, maxBytes }, disconnectSignal(reply));
};

/** Builds the body of an answer: one message, or all messages of a stream. Server-Sent Events are sent as they come. */
const bodyFor = async (call: DispatchedCall, exchange: Exchange, hosting: Hosting): Promise<Buffer | Sent> => {
  const { stream } = call.endpoint;
  if (stream?.takes === 'follow') return sendFollowed(stream, call, exchange.reply);
  if (stream?.takes === 'batches')
    throw new RpcError('UNIMPLEMENTED', `${call.endpoint.name} is served over gRPC only`);
  if (stream) return streamBody(stream, call, { exchange, hosting });
  const answer = await answerUnary(call);
  void exchange.reply.headers(userHeaders(answer));
  return dialectsOf(exchange.request).write.write(call.endpoint.method.output, answer);
};

const deadlineOf = (request: FastifyRequest): Deadline | undefined => {
  const ms = timeoutOf(headerOf(request, 'grpc-timeout'));
  return ms === undefined ? undefined : { ms, message: 'Deadline exceeded' };
};

const open = (exchange: Exchange, hosting: Hosting): DispatchedCall => {
  const { request, reply, addressed } = exchange;
  const startedAt = performance.now();
  const deadline = deadlineOf(request);
  const isClosed = (): boolean => reply.raw.destroyed;
  const { socket } = request.raw;
  const reservation = lazyReservation(hosting.answers, { socket, stream: reply.raw, isGone: isClosed });
  const factor = dialectsOf(request).write.isText ? COMPOSING_FACTORS.text : COMPOSING_FACTORS.bytes;
  const isOver = (): boolean => performance.now() - startedAt >= (deadline?.ms ?? Infinity);
  return openCall({
    endpoint: addressed.match.binding.endpoint,
    transport: 'rest',
    callersPackage: OWN_PACKAGE,
    startedAt,
    deadline,
    header: (name) => headerOf(request, name),
    peer: () => socket.remoteAddress ?? '',
    certificate: () => certificateOf(request),
    isCancelled: () => isOver() || (isClosed() && !reply.raw.writableFinished),
    onEnd: (listener) => {
      if (isClosed()) listener();
      else reply.raw.once('close', listener);
    },
    receive: () => receive(exchange, hosting),
    reserveMemory: (bytes) => reservation().reserve(bytes * factor),
    reserveAnswer: (bytes) => reservation().resizeToAnswer(bytes),
    answerItem: hosting.answerItem,
  });
};

/** Answers one REST request: finds its RPC, reads it, dispatches the call, and sends the answer or the failure. */
export const answerRequest = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { bindings, hosting }: { readonly bindings: Bindings; readonly hosting: Hosting },
): Promise<void> => {
  let addressed: Addressed | undefined;
  let call: DispatchedCall | undefined;
  try {
    addressed = address(request, bindings);
    sendIgnored(reply, addressed);
    const exchange = { request, reply, addressed };
    call = open(exchange, hosting);
    const body = await hosting.dispatch(call, (dispatched) => bodyFor(dispatched, exchange, hosting));
    if (reply.sent || !Buffer.isBuffer(body)) return; // a stream of events
    sendNotes(reply, call, hosting);
    void reply.header('grpc-metadata-content-type', 'application/grpc');
    send({ request, reply }, dialectsOf(request).write, body);
  } catch (thrown) {
    if (reply.sent) {
      reply.raw.destroy(); // in the middle of a stream of events
      return;
    }
    if (!call) logFailure(hosting.logger, thrown, { requestId: '', rpc: 'none' });
    sendNotes(reply, call, hosting);
    sendFailure(request, reply, thrown, addressed?.match.binding.endpoint.method);
  }
};

/** The codes of errors of zlib that are the fault of the body. */
const ZLIB_FAULTS: ReadonlySet<unknown> = new Set(['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT']);

/** Converts an error of Fastify or Node from before dispatch, by its code; other errors are returned unchanged. */
export const requestFault = (error: unknown, maxBytes: number): unknown => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (ZLIB_FAULTS.has(code)) return new RpcError('INVALID_ARGUMENT', 'cannot decompress the body');
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new RpcError('RESOURCE_EXHAUSTED', `message larger than max (${maxBytes} bytes)`);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new RpcError('INVALID_ARGUMENT', 'the body is not as long as Content-Length says');
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE': // raised for the verb QUERY, which no binding has
      return new RpcError('UNIMPLEMENTED', 'Method Not Allowed');
    case 'FST_ERR_BAD_URL':
      return new RpcError('INVALID_ARGUMENT', 'malformed path');
    case 'ECONNRESET': // while receiving the body; the answer cannot be delivered
      return callerDisconnected();
    default:
      return error;
  }
};
