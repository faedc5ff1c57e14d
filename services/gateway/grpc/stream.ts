import { frameOf, framesOf } from '../../kernel/encoding/grpc-frame.js';
import { callerDisconnected } from '../../kernel/rpc.js';
import { clientCertificateOn } from '../client-certificate.js';
import { type DispatchedCall, openCall, type ReceivedCall } from '../dispatch/call.js';
import type { Sent } from '../dispatch/dispatch.js';
import { assertDecodable } from '../decode.js';
import type { Hosting } from '../exchange.js';
import { beginAnswer, endAnswer, incoming, refuse } from './answer.js';
import type { GrpcCall, GrpcHandler } from './call.js';
import { batchesOf, receivedMessages, onlyMessage } from './messages.js';
import { type Endpoint, unimplemented } from '../routes.js';
import { closeInTime, type MaxStall } from '../stalled-reader.js';
import { rpcFailureOf } from '../status.js';
import { hangUpOn, write } from './write.js';

const isServerStreaming = ({ method }: Endpoint): boolean => method.methodKind === 'server_streaming';

/** Receives the only request of a server-streaming RPC, before it is authorized by what it names. */
const receive = async (endpoint: Endpoint, call: GrpcCall, hosting: Hosting): Promise<ReceivedCall> => {
  if (!isServerStreaming(endpoint)) return { request: undefined, bytes: 0 };
  const request = await onlyMessage(incoming(call, hosting, true));
  assertDecodable(endpoint.method.input, request);
  return { request, bytes: request.length };
};

/** Yields the requests of a call after checking that each decodes. */
const requestsOf = async function* (
  { endpoint, request: received }: DispatchedCall,
  call: GrpcCall,
  hosting: Hosting,
): AsyncIterable<Uint8Array> {
  if (received instanceof Uint8Array) {
    yield received;
    return;
  }
  for await (const request of receivedMessages(incoming(call, hosting, false))) {
    assertDecodable(endpoint.method.input, request);
    yield request;
  }
};

/** A streaming gRPC call, and the signal that the client is gone or the call has failed. */
type Streaming = {
  readonly grpcCall: GrpcCall;
  readonly disconnected: AbortSignal;
  readonly shutdown: AbortSignal;
  readonly hosting: Hosting;
};

/** Runs the handler, and yields its answers as they are sent. */
const framedAnswers = async function* (
  call: DispatchedCall,
  { grpcCall, disconnected, hosting }: Streaming,
): AsyncIterable<Uint8Array> {
  const { endpoint, request } = call;
  const { stream } = endpoint;
  if (!stream) throw unimplemented(endpoint);
  if (stream.takes === 'follow')
    // Such an RPC has only one request, which is received already.
    yield* stream.follow(request as Uint8Array, call, { form: 'messages', disconnected });
  else if (stream.takes === 'stream')
    for await (const answer of stream.open(requestsOf(call, grpcCall, hosting), call, disconnected))
      yield frameOf(answer);
  else
    for await (const answers of stream.open(batchesOf(incoming(grpcCall, hosting, false)), call, disconnected))
      yield framesOf(answers);
};

const maxStallOf = ({ stream }: Endpoint): MaxStall => (stream?.takes === 'follow' ? stream.maxStallMs : undefined);

/** Runs the handler and sends what it yields. */
const answerAll = async (call: DispatchedCall, streaming: Streaming): Promise<Sent> => {
  const { grpcCall, disconnected } = streaming;
  // Some clients, such as those in Rust, wait for the headers before they send their first message.
  if (call.endpoint.stream !== undefined && !disconnected.aborted) beginAnswer(grpcCall);
  const reader = { disconnected, maxStallMs: maxStallOf(call.endpoint) };
  let length = 0;
  try {
    for await (const framed of framedAnswers(call, streaming)) {
      await write(grpcCall, framed, reader);
      length += framed.length;
    }
  } catch (thrown) {
    if (disconnected.aborted) throw callerDisconnected();
    throw thrown;
  }
  return { length };
};

const open = (endpoint: Endpoint, { grpcCall, disconnected, shutdown, hosting }: Streaming): DispatchedCall =>
  openCall({
    endpoint,
    transport: 'grpc',
    callersPackage: grpcCall.callersPackage,
    startedAt: performance.now(),
    deadline: grpcCall.deadline,
    header: grpcCall.header,
    peer: () => grpcCall.socket.remoteAddress ?? '',
    certificate: () => clientCertificateOn(grpcCall.socket),
    isCancelled: () => disconnected.aborted,
    receive: () => receive(endpoint, grpcCall, hosting),
    reserveMemory: () => Promise.resolve(),
    reserveAnswer: () => undefined, // no budget: each message waits until the client reads
    answerItem: hosting.answerItem,
    shutdown,
  });

/** Makes the handler of a streaming RPC. `shutdown` is aborted when the server begins to shut down. */
export const streamHandler = (endpoint: Endpoint, hosting: Hosting, shutdown: AbortSignal): GrpcHandler => {
  const answer = async (grpcCall: GrpcCall, disconnection: AbortController): Promise<void> => {
    const streaming = { grpcCall, disconnected: disconnection.signal, shutdown, hosting };
    try {
      await hosting.dispatch(open(endpoint, streaming), (call) => answerAll(call, streaming));
      endAnswer(grpcCall, { 'grpc-status': '0' });
    } catch (thrown) {
      disconnection.abort(); // after a missed deadline the handler still runs
      refuse(grpcCall, rpcFailureOf(thrown, endpoint.method));
    }
    closeInTime(grpcCall.stream, maxStallOf(endpoint), hangUpOn(grpcCall));
  };
  return (grpcCall) => {
    const disconnection = new AbortController();
    grpcCall.stream.once('close', () => disconnection.abort());
    void answer(grpcCall, disconnection);
  };
};
