import type { Socket } from 'node:net';

import { frameOf } from '../../kernel/encoding/grpc-frame.js';
import type { EncodedCall, EncodedHandler, FailedStatus } from '../../kernel/ports/encoded-calls.js';
import type { TlsSource } from '../../kernel/ports/tls.js';
import { clientCertificateOn } from '../client-certificate.js';
import { withinDeadline } from '../dispatch/deadline.js';
import { HANDSHAKE_MS, type Listening } from '../exchange.js';
import { requestBudget } from '../memory-budget.js';
import { endAnswer, incoming } from './answer.js';
import { type GrpcCall, type GrpcHandler, isGone } from './call.js';
import { acceptCalls, type AnswerPage } from './calls.js';
import { receivedMessages, onlyMessage, type RequestLimits } from './messages.js';
import { encodedText, type Trailer } from './trailer.js';
import { write } from './write.js';

/** Services of other packages than the interface, whose messages the gateway does not decode. */
export type EncodedHosting = {
  /** The protocol that is served, as in `gRPC cannot listen on …`. */
  readonly protocol: string;
  readonly host: string;
  /** With 0, the operating system chooses a free port. */
  readonly port: number;
  /** Without it, connections are not encrypted. */
  readonly tls?: TlsSource | undefined;
  /** The largest request message that is accepted, in bytes. */
  readonly maxMessageBytes: number;
  /** By path. */
  readonly handlers: ReadonlyMap<string, EncodedHandler>;
  /** Gives the status of a call that has failed. */
  readonly statusOf: (thrown: unknown, path: string) => FailedStatus;
  /** Serves connections of HTTP/1.1 on the same port; without it, they are closed. */
  readonly http1?: (socket: Socket) => void;
  /** Answers a GET or HEAD of HTTP/2; without it, its status is 405. */
  readonly answerPage?: AnswerPage;
};

/** The memory budget for requests that are received or processed, as a number of requests of the largest size. */
const LARGEST_REQUESTS = { ofConnection: 4, inAll: 16 };

const WAIT_MS = 10_000;
const STALL_TIMEOUT_MS = 30_000;

const limitsOf = (maxMessageBytes: number): RequestLimits => ({
  maxMessageBytes,
  requests: requestBudget({
    perConnectionBytes: LARGEST_REQUESTS.ofConnection * maxMessageBytes,
    totalBytes: LARGEST_REQUESTS.inAll * maxMessageBytes,
    waitMs: WAIT_MS,
    stallTimeoutMs: STALL_TIMEOUT_MS,
  }),
});

/** A gRPC call, and the signal that its client has gone or that it has ended. */
type OpenCall = { readonly path: string; readonly grpcCall: GrpcCall; readonly disconnected: AbortSignal };

const encodedCall = ({ path, grpcCall, disconnected }: OpenCall, limits: RequestLimits): EncodedCall => {
  const { socket, header } = grpcCall;
  const reader = { disconnected, maxStallMs: undefined };
  return {
    path,
    header,
    disconnected,
    peer: { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 },
    certificate: () => clientCertificateOn(socket),
    request: () => onlyMessage(incoming(grpcCall, limits, true)),
    requests: () => receivedMessages(incoming(grpcCall, limits, false)),
    send: (answer) => write(grpcCall, frameOf(answer), reader),
  };
};

const trailerOf = ({ code, message, trailers }: FailedStatus): Trailer => ({
  ...trailers,
  'grpc-status': String(code),
  'grpc-message': encodedText(message),
});

type Serving = Pick<EncodedHosting, 'statusOf'> & { readonly limits: RequestLimits };

const handlerOf = (path: string, handle: EncodedHandler, { limits, statusOf }: Serving): GrpcHandler => {
  const answer = async (grpcCall: GrpcCall, disconnection: AbortController): Promise<void> => {
    const call = encodedCall({ path, grpcCall, disconnected: disconnection.signal }, limits);
    try {
      await withinDeadline(grpcCall.deadline, () => handle(call));
      endAnswer(grpcCall, { 'grpc-status': '0' });
    } catch (thrown) {
      if (!isGone(grpcCall)) endAnswer(grpcCall, trailerOf(statusOf(thrown, path)));
    }
    disconnection.abort(); // after a missed deadline the handler still runs
  };
  return (grpcCall) => {
    const disconnection = new AbortController();
    grpcCall.stream.once('close', () => disconnection.abort());
    void answer(grpcCall, disconnection);
  };
};

/**
 * Serves RPCs of other packages than the interface on a port of their own, by the code of the gRPC port but outside of
 * the dispatch.
 *
 * @throws {Error} when the address cannot be listened on.
 */
export const serveEncoded = async (hosting: EncodedHosting): Promise<Listening> => {
  const limits = limitsOf(hosting.maxMessageBytes);
  const served = new Map(
    [...hosting.handlers].map(([path, handle]) => [
      path,
      { handle: handlerOf(path, handle, { limits, statusOf: hosting.statusOf }) },
    ]),
  );
  const unbounded = { handshakeMs: HANDSHAKE_MS, maxConnections: Number.MAX_SAFE_INTEGER };
  const calls = await acceptCalls({ ...hosting, ...unbounded }, (path) => served.get(path), hosting.answerPage);
  return {
    port: calls.port,
    close: async (options) => {
      await calls.close(options);
      limits.requests.close();
    },
  };
};
