import { once } from 'node:events';

import { type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';

import { type Call, RpcError, type StatusCode } from '../kernel/rpc.js';
import type { Agent } from './directory.js';

/** Calls one agent server, with messages as bytes. */
export interface AgentClient {
  readonly agent: Agent;
  /**
   * Ends its call when the caller's is over.
   *
   * @throws {RpcError} naming the agent, for any status but OK.
   */
  ask(method: DescMethod, request: Uint8Array, call: Call): Promise<Uint8Array>;
  /**
   * Passes requests on as they come, and answers as they come back; ends the call when nobody reads on.
   *
   * @throws {RpcError} naming the agent, for any status but OK.
   */
  exchange(method: DescMethod, requests: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncIterable<Uint8Array>;
  close(): void;
}

const asIs = (bytes: Buffer): Buffer => bytes;

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Statuses of an agent that are not passed on as they are: ours mean something else, or are never answered. */
const TRANSLATED: Readonly<Partial<Record<keyof typeof status, StatusCode>>> = {
  CANCELLED: 'ABORTED', // by the agent: when the caller goes, nobody is told
  UNKNOWN: 'ABORTED',
  INTERNAL: 'ABORTED',
  DATA_LOSS: 'ABORTED',
  OUT_OF_RANGE: 'INVALID_ARGUMENT',
  UNAUTHENTICATED: 'FAILED_PRECONDITION', // it is us whom the agent does not know, not the caller
};

const refusal = (agent: Agent, { code, details }: ServiceError): RpcError => {
  const name = (status[code] as keyof typeof status | undefined) ?? 'UNKNOWN';
  const told = TRANSLATED[name] ?? (name as StatusCode);
  return new RpcError(told, `agent ${agent.name} (${agent.endpoint}) answers ${name}: ${details}`);
};

const pathOf = ({ package: own }: Agent, method: DescMethod): string =>
  `/${method.parent.typeName.replace(/^platformidl(?=\.)/, own)}/${method.name}`;

/** An answer as it came, which is the message that it ought to be. @throws {RpcError} ABORTED when it is not. */
const understood = (agent: Agent, { output }: DescMethod, answer: Buffer): Buffer => {
  try {
    fromBinary(output, answer);
    return answer;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'not a message';
    throw new RpcError('ABORTED', `agent ${agent.name} (${agent.endpoint}) answers what is no ${output.name}: ${why}`);
  }
};

type Exchange = ClientDuplexStream<Buffer, Buffer>;

/** Until more can be sent; or the call has ended, which whoever reads its answers hears of. */
const room = (call: Exchange, over: AbortSignal): Promise<unknown> =>
  once(call, 'drain', { signal: over }).catch(() => undefined);

/** Passes requests on no faster than the agent reads them, until the call is over. */
const send = async (call: Exchange, requests: AsyncIterable<Uint8Array>, over: AbortSignal): Promise<void> => {
  for await (const request of requests) {
    if (over.aborted) return;
    if (!call.write(asBuffer(request))) await room(call, over);
  }
  call.end();
};

/**
 * Opens a channel to an agent, when it is first called; whoever asked for it closes it.
 *
 * @param maxMessageBytes the largest answer that is taken; a larger one is RESOURCE_EXHAUSTED.
 */
export const agentClient = (agent: Agent, maxMessageBytes: number): AgentClient => {
  const client = new Client(agent.endpoint, agent.tls ? credentials.createSsl() : credentials.createInsecure(), {
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
      // What is wrong with the requests is said instead of what the agent says of their end.
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
    ask: (method, request, call) =>
      new Promise<Buffer>((resolve, reject) => {
        const gone = new RpcError('CANCELLED', 'the caller has gone');
        const options = { deadline: Date.now() + agent.timeout };
        const path = pathOf(agent, method);
        const answered = (error: ServiceError | null, answer?: Buffer): void => {
          if (answer && !error) resolve(answer);
          else reject(call.isCancelled() || !error ? gone : refusal(agent, error));
        };
        const asked = client.makeUnaryRequest(path, asIs, asIs, asBuffer(request), new Metadata(), options, answered);
        call.whenOver?.(() => asked.cancel());
      }).then((answer) => understood(agent, method, answer)),
    exchange,
    close: () => client.close(),
  };
};
