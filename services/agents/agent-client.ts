import { once } from 'node:events';

import { type DescMethod, fromBinary } from '@bufbuild/protobuf';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';

import { type Call, callerDisconnected, RpcError, type StatusCode } from '../kernel/rpc.js';
import type { Agent } from './directory.js';
import { tlsByAddress } from './tls-address.js';

/** Calls one agent server, with messages as bytes. */
export interface AgentClient {
  readonly agent: Agent;
  /**
   * Makes a unary call; cancels it when the caller's call is cancelled.
   *
   * @throws {RpcError} naming the agent, for any status but OK, and ABORTED for an answer that cannot be decoded;
   * CANCELLED when the caller has gone.
   */
  callUnary(method: DescMethod, request: Uint8Array, call: Call): Promise<Uint8Array>;
  /**
   * Makes a streaming call: forwards requests and responses as they arrive. Cancels the call when the consumer stops
   * reading the responses, or when `signal` is aborted.
   *
   * @throws {RpcError} naming the agent, for any status but OK, and ABORTED for a response that cannot be decoded.
   * @throws the error of `requests`, when reading them fails.
   */
  exchange(method: DescMethod, requests: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncIterable<Uint8Array>;
  close(): void;
}

const asIs = (bytes: Buffer): Buffer => bytes;

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The statuses of an agent that are translated: here they have another meaning or are never returned. */
const TRANSLATED: Readonly<Partial<Record<keyof typeof status, StatusCode>>> = {
  CANCELLED: 'ABORTED', // cancelled by the agent or by a shutdown: a caller that cancels gets no answer
  UNKNOWN: 'ABORTED',
  INTERNAL: 'ABORTED',
  DATA_LOSS: 'ABORTED',
  OUT_OF_RANGE: 'INVALID_ARGUMENT',
  UNAUTHENTICATED: 'FAILED_PRECONDITION', // the agent rejects this server, not the caller
};

const refusal = (agent: Agent, { code, details }: ServiceError): RpcError => {
  const name = (status[code] as keyof typeof status | undefined) ?? 'UNKNOWN';
  const translated = TRANSLATED[name] ?? (name as StatusCode);
  return new RpcError(translated, `agent ${agent.name} (${agent.endpoint}) answers ${name}: ${details}`);
};

const pathOf = ({ package: packageName }: Agent, method: DescMethod): string =>
  `/${method.parent.typeName.replace(/^platformidl(?=\.)/, packageName)}/${method.name}`;

/**
 * Returns a response unchanged after checking that it is a message of the method's output type.
 *
 * @throws {RpcError} ABORTED when it is not.
 */
const understood = (agent: Agent, { output }: DescMethod, answer: Buffer): Buffer => {
  try {
    fromBinary(output, answer);
    return answer;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'not a message';
    throw new RpcError(
      'ABORTED',
      `agent ${agent.name} (${agent.endpoint}) answers what is no ${output.name}: ${reason}`,
    );
  }
};

type Exchange = ClientDuplexStream<Buffer, Buffer>;

/** Waits until the call accepts more requests or has ended. The reader of its responses gets the error. */
const untilWritable = (call: Exchange, over: AbortSignal): Promise<unknown> =>
  once(call, 'drain', { signal: over }).catch(() => undefined);

/** Forwards requests no faster than the agent reads them, until the call has ended. */
const send = async (call: Exchange, requests: AsyncIterable<Uint8Array>, over: AbortSignal): Promise<void> => {
  for await (const request of requests) {
    if (over.aborted) return;
    if (!call.write(asBuffer(request))) await untilWritable(call, over);
  }
  call.end();
};

/**
 * Makes the client of an agent, which connects on the first call. The caller closes it.
 *
 * @param maxMessageBytes the largest response that is accepted; a larger one fails with RESOURCE_EXHAUSTED.
 */
export const agentClient = (agent: Agent, maxMessageBytes: number): AgentClient => {
  const { verify, options } = tlsByAddress(agent.endpoint);
  const secured = (): ChannelCredentials => credentials.createSsl(null, null, null, verify);
  const client = new Client(agent.endpoint, agent.tls ? secured() : credentials.createInsecure(), {
    ...options,
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_reconnect_backoff_ms': 5_000,
  });

  const exchange = async function* (
    method: DescMethod,
    requests: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array> {
    const deadline = Date.now() + agent.stream_timeout;
    const call = client.makeBidiStreamRequest(pathOf(agent, method), asIs, asIs, new Metadata(), { deadline });
    const over = new AbortController();
    const end = (): void => {
      over.abort();
      call.cancel();
    };
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    let unread: Error | undefined;
    void send(call, requests, over.signal).catch((error: unknown) => {
      if (over.signal.aborted) return;
      // The caller gets the error of the request stream, not the CANCELLED with which the cancelled call ends.
      unread = error instanceof Error ? error : new Error('requests cannot be read', { cause: error });
      end();
    });
    try {
      for await (const answer of call as AsyncIterable<Buffer>) yield understood(agent, method, answer);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      throw unread ?? refusal(agent, error as ServiceError);
    } finally {
      signal.removeEventListener('abort', end);
      end();
    }
  };

  return {
    agent,
    callUnary: (method, request, call) =>
      new Promise<Buffer>((resolve, reject) => {
        const disconnected = callerDisconnected();
        const options = { deadline: Date.now() + agent.timeout };
        const path = pathOf(agent, method);
        const answered = (error: ServiceError | null, answer?: Buffer): void => {
          if (answer && !error) resolve(answer);
          else reject(call.isCancelled() || !error ? disconnected : refusal(agent, error));
        };
        const unary = client.makeUnaryRequest(path, asIs, asIs, asBuffer(request), new Metadata(), options, answered);
        call.onEnd?.(() => unary.cancel());
      }).then((answer) => understood(agent, method, answer)),
    exchange,
    close: () => client.close(),
  };
};
