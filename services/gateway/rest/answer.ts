import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { type Answer, RpcError, type StatusCode } from '../../kernel/rpc.js';
import type { CallRoom } from '../room.js';
import { noteOf, type OpenCall, openCall, requestIdOf } from '../call.js';
import { COMPOSING, type Hosting, run, UNCOUNTED_BYTES } from '../exchange.js';
import { logFailure } from '../log.js';
import type { Bindings } from './bindings.js';
import { sendBody } from './encoding.js';
import { timeoutMs, within } from './deadline.js';
import { answerDialect, type Dialect, requestDialect } from './dialects.js';
import { largeRequest } from './large.js';
import { ignoredIn, ignoredText } from './parameters.js';
import { address, type Addressed, bodyOf, readRequest, requestBytes } from './request.js';
import { type Endpoint, unimplemented } from '../routes.js';
import { answerStream, messagesOf } from './stream.js';
import { failureOf, statuses } from '../status.js';

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A header by its name, or as gRPC metadata that is sent along as a header. */
const header = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name] ?? request.headers[`grpc-metadata-${name}`];
  return Array.isArray(value) ? value[0] : value;
};

const dialectsOf = (request: FastifyRequest): { read: Dialect; write: Dialect } => {
  const read = requestDialect(request.headers['content-type']);
  return { read, write: answerDialect(request.headers.accept, read) };
};

type Reply = { readonly request: FastifyRequest; readonly reply: FastifyReply };

const send = ({ request, reply }: Reply, dialect: Dialect, body: Uint8Array | string): void => {
  void reply.header('content-type', dialect.mediaType);
  // As bytes, or the framework adds a charset to the media type that clients compare.
  sendBody(request, reply, typeof body === 'string' ? Buffer.from(body) : asBuffer(body));
};

const sendNotes = (reply: FastifyReply, call: OpenCall | undefined, { positions }: Hosting): void => {
  for (const [name, value] of call === undefined ? [] : noteOf(call, positions))
    void reply.headers({ [name]: value, [`grpc-metadata-${name}`]: value });
};

/** Says which parameters of the query changed nothing. */
const sendIgnored = (reply: FastifyReply, { query, match }: Addressed): void => {
  const ignored = ignoredIn(query, match);
  if (ignored.length > 0) void reply.header('flightlog-ignored', ignoredText(ignored));
};

/** A text as a header can carry it: one line of printable ASCII. */
const headerText = (text: string): string => text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 1_000);

/** Answers a request that has failed: the status as HTTP has it, and `google.rpc.Status` in the caller's dialect. */
export const sendFailure = (
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
  method?: DescMethod,
): StatusCode => {
  const failure = failureOf(thrown, method);
  if (failure.retryAfterMs !== undefined) void reply.header('retry-after', Math.ceil(failure.retryAfterMs / 1_000));
  void reply.status(statuses[failure.code].http);
  if (failure.code === 'UNAUTHENTICATED') void reply.header('www-authenticate', headerText(failure.message));
  const { write } = dialectsOf(request);
  send({ request, reply }, write, write.writeFailure(failure));
  return failure.code;
};

type Exchange = { readonly request: FastifyRequest; readonly addressed: Addressed; readonly call: OpenCall };

const handle = async ({ request, addressed, call }: Exchange, hosting: Hosting): Promise<Answer<DescMessage>> => {
  const { binding } = addressed.match;
  const { route } = binding.endpoint;
  if (!route) throw unimplemented(binding.endpoint);
  const dialect = dialectsOf(request).read;
  const large = await largeRequest(request, addressed, { dialect, hosting });
  if (large) return run(route, large, call);
  const message = readRequest(request, addressed, dialect);
  return route.takes === 'bytes'
    ? run(route, requestBytes(binding, message), call)
    : route.handle(message as never, call);
};

/** The body of an answer: a message, or for a stream its messages. */
const bodyFor = async (exchange: Exchange, reply: FastifyReply, hosting: Hosting): Promise<Uint8Array | string> => {
  const { request, addressed, call } = exchange;
  const { endpoint, hasBody } = addressed.match.binding;
  const { stream } = endpoint;
  const dialects = dialectsOf(request);
  if (!stream) return dialects.write.write(endpoint.method.output, await handle(exchange, hosting));
  const messages = hasBody
    ? messagesOf(endpoint, bodyOf(request), dialects.read)
    : [readRequest(request, addressed, dialects.read)];
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const asked = { endpoint: { ...endpoint, stream }, messages, call, dialects, maxBytes: hosting.maxMessageBytes };
  return answerStream(asked, gone.signal);
};

/** The account of a call in the room for answers; made when it is needed, because most answers are small. */
const roomFor = (request: FastifyRequest, reply: FastifyReply, { answers }: Hosting): (() => CallRoom) => {
  let room: CallRoom | undefined;
  return () => {
    if (room) return room;
    if (reply.raw.destroyed) throw new RpcError('CANCELLED', 'the caller has gone');
    room = answers.open(request.raw.socket);
    reply.raw.once('close', room.leave);
    return room;
  };
};

type Opening = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly room: () => CallRoom;
  readonly isOver: () => boolean;
};

const open = ({ request, reply, room, isOver }: Opening, hosting: Hosting): OpenCall => {
  const factor = dialectsOf(request).write.isText ? COMPOSING.text : COMPOSING.bytes;
  const arrival = {
    header: (name: string) => header(request, name),
    isCancelled: () => isOver() || (reply.raw.destroyed && !reply.raw.writableFinished),
    whenOver: (hear: () => void) => {
      if (reply.raw.destroyed) hear();
      else reply.raw.once('close', hear);
    },
    makeRoom: async (bytes: number) => room().make(bytes * factor),
  };
  return openCall(arrival, requestIdOf(header(request, 'x-request-id')), hosting);
};

/** Answers one request of the interface: finds its RPC, reads it, asks the route, writes what it answers. */
export const answerRequest = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { bindings, hosting }: { readonly bindings: Bindings; readonly hosting: Hosting },
): Promise<void> => {
  const startedAt = performance.now();
  const done: { endpoint?: Endpoint; call?: OpenCall } = {};
  let code: StatusCode | 'OK' = 'OK';
  try {
    const addressed = address(request, bindings);
    sendIgnored(reply, addressed);
    const { endpoint } = addressed.match.binding;
    done.endpoint = endpoint;
    const timeout = timeoutMs(header(request, 'grpc-timeout'));
    const isOver = () => performance.now() - startedAt >= (timeout ?? Infinity);
    const room = roomFor(request, reply, hosting);
    const call = open({ request, reply, room, isOver }, hosting);
    done.call = call;
    const { write } = dialectsOf(request);
    const body = await within(timeout, bodyFor({ request, addressed, call }, reply, hosting));
    if (body.length > UNCOUNTED_BYTES) room().fill(body.length);
    sendNotes(reply, call, hosting);
    void reply.header('grpc-metadata-content-type', 'application/grpc');
    send({ request, reply }, write, body);
  } catch (thrown) {
    const requestId = done.call?.requestId ?? requestIdOf(header(request, 'x-request-id'));
    logFailure(hosting.logger, thrown, { requestId, rpc: done.endpoint?.name ?? 'none' });
    sendNotes(reply, done.call, hosting);
    code = sendFailure(request, reply, thrown, done.endpoint?.method);
  }
  if (done.endpoint) hosting.onAnswered?.(done.endpoint, code, performance.now() - startedAt);
};

/** What a request that never became one is answered, by the code that web framework and platform give their errors. */
export const requestFault = (error: unknown, maxBytes: number): unknown => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new RpcError('RESOURCE_EXHAUSTED', `message larger than max (${maxBytes} bytes)`);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new RpcError('INVALID_ARGUMENT', 'the body is not as long as Content-Length says');
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE': // of QUERY, a verb that nothing here has
      return new RpcError('UNIMPLEMENTED', 'Method Not Allowed');
    case 'Z_DATA_ERROR':
    case 'Z_BUF_ERROR':
      return new RpcError('INVALID_ARGUMENT', 'cannot decompress the body');
    case 'FST_ERR_BAD_URL':
      return new RpcError('INVALID_ARGUMENT', 'malformed path');
    case 'ECONNRESET': // in the middle of the body; nobody reads this
      return new RpcError('CANCELLED', 'the caller has gone');
    default:
      return error;
  }
};
