import { type DescMethod } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';

import { RpcError, type StatusCode } from '../kernel/rpc.js';
import type { Agent } from './directory.js';

/** Calls one agent server, with messages as bytes. */
export interface AgentClient {
  readonly agent: Agent;
  /** @throws {RpcError} naming the agent, for any status but OK. */
  ask(method: DescMethod, request: Uint8Array): Promise<Uint8Array>;
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

/** Opens a channel to an agent, when it is first called; whoever asked for it closes it. */
export const agentClient = (agent: Agent): AgentClient => {
  const client = new Client(agent.endpoint, agent.tls ? credentials.createSsl() : credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
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
    const cancel = (): void => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    let unread: Error | undefined;
    const sent = (async () => {
      for await (const request of requests) call.write(asBuffer(request));
      call.end();
    })().catch((error: unknown) => {
      unread = error instanceof Error ? error : new Error('requests cannot be read', { cause: error }); // what is wrong with the requests is said instead of what the agent says of their end
      cancel();
    });
    try {
      for await (const answer of call as AsyncIterable<Buffer>) yield answer;
      await sent;
    } catch (error) {
      throw unread ?? refusal(agent, error as ServiceError);
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
    }
  };

  return {
    agent,
    ask: (method, request) =>
      new Promise((resolve, reject) => {
        const options = { deadline: Date.now() + agent.timeout };
        const path = pathOf(agent, method);
        client.makeUnaryRequest(path, asIs, asIs, asBuffer(request), new Metadata(), options, (error, answer) =>
          error || !answer ? reject(error ? refusal(agent, error) : new Error('no answer')) : resolve(answer),
        );
      }),
    exchange,
    close: () => client.close(),
  };
};
