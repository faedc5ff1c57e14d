import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';

import { RpcError, type StreamRoute } from '../../kernel/rpc.js';
import type { DispatchedCall } from '../dispatch/call.js';
import type { Dialect } from './dialects.js';
import type { Endpoint } from '../routes.js';

/** The messages of a body: one, or one a line. */
export const messagesOf = (
  endpoint: Endpoint,
  body: Buffer,
  { read }: Dialect,
): readonly MessageShape<DescMessage>[] => {
  const lines = body
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '');
  const isWhole = lines.every((line) => line.trimStart().startsWith('{') && line.trimEnd().endsWith('}'));
  return lines.length > 1 && isWhole ? lines.map((line) => read(endpoint, Buffer.from(line))) : [read(endpoint, body)];
};

/** What a stream is over REST: all that is asked first, and then all that is answered, one JSON object a line. */
type StreamExchange = {
  readonly endpoint: Endpoint & { readonly stream: StreamRoute };
  readonly messages: readonly MessageShape<DescMessage>[];
  readonly call: DispatchedCall;
  readonly dialects: { readonly read: Dialect; readonly write: Dialect };
  /** The most that is answered, in bytes. */
  readonly maxBytes: number;
};

const requestsOf = async function* (
  { method }: Endpoint,
  messages: readonly MessageShape<DescMessage>[],
): AsyncIterable<Uint8Array> {
  for (const message of messages) yield await Promise.resolve(toBinary(method.input, message));
};

/**
 * Answers an RPC that is a stream: `{"result":…}` on a line for each message, as callers of gateways know it.
 *
 * @throws {RpcError} UNIMPLEMENTED where JSON is not wanted, RESOURCE_EXHAUSTED when there is more than `maxBytes`.
 */
export const answerStream = async (exchange: StreamExchange, signal: AbortSignal): Promise<string> => {
  const { endpoint, messages, call, dialects, maxBytes } = exchange;
  const { method, stream, name } = endpoint;
  if (!dialects.write.isText) throw new RpcError('UNIMPLEMENTED', `${name} is answered as JSON, one object a line`);
  const lines: string[] = [];
  let length = 0;
  for await (const bytes of stream.open(requestsOf(endpoint, messages), call, signal)) {
    const line = `{"result":${String(dialects.write.write(method.output, fromBinary(method.output, bytes)))}}\n`;
    length += line.length;
    if (length > maxBytes)
      throw new RpcError('RESOURCE_EXHAUSTED', `the answer of ${name} is larger than max (${maxBytes} bytes)`);
    lines.push(line);
  }
  return lines.join('');
};
