import { isUtf8 } from 'node:buffer';

import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';

import { RpcError, type StreamRoute } from '../../kernel/rpc.js';
import type { DispatchedCall } from '../dispatch/call.js';
import type { Dialect } from './dialects.js';
import type { Endpoint } from '../routes.js';
import { setFields } from './json.js';

/** Reads the messages of a body: one message, or one JSON object on each line. */
export const bodyMessages = (
  endpoint: Endpoint,
  body: Buffer,
  { read, isText }: Dialect,
): readonly MessageShape<DescMessage>[] => {
  if (!isText || !isUtf8(body)) return [read(endpoint, body)]; // which refuses text that is not UTF-8
  const lines = body
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '');
  const isWhole = lines.every((line) => line.trimStart().startsWith('{') && line.trimEnd().endsWith('}'));
  return lines.length > 1 && isWhole ? lines.map((line) => read(endpoint, Buffer.from(line))) : [read(endpoint, body)];
};

/** A streaming RPC over REST: first all requests, then all answers, with one JSON object on each line. */
type StreamExchange = {
  readonly endpoint: Endpoint;
  readonly stream: StreamRoute;
  readonly messages: readonly MessageShape<DescMessage>[];
  readonly call: DispatchedCall;
  readonly dialects: { readonly read: Dialect; readonly write: Dialect };
  /** The largest answer, in bytes of UTF-8. */
  readonly maxBytes: number;
};

const requestsOf = async function* (
  { method }: Endpoint,
  messages: readonly MessageShape<DescMessage>[],
): AsyncIterable<Uint8Array> {
  for (const message of messages) yield await Promise.resolve(toBinary(method.input, message));
};

const LAST_EVENT_ID = 'last_event_id';

/** Sets the field `last_event_id` from the header that a client of Server-Sent Events sends when it connects again. */
export const withLastEventId = (
  { method }: Endpoint,
  message: MessageShape<DescMessage>,
  lastEventId: string | undefined,
): MessageShape<DescMessage> => {
  const field = method.input.fields.find(({ name }) => name === LAST_EVENT_ID);
  if (field && lastEventId !== undefined && lastEventId !== '')
    setFields(method.input, message, { [LAST_EVENT_ID]: lastEventId });
  return message;
};

const LINE_START = Buffer.from('{"result":');
const LINE_END = Buffer.from('}\n');

/**
 * Answers a streaming RPC with one line `{"result":…}` for each message, as grpc-gateway does.
 *
 * @throws {RpcError} UNIMPLEMENTED when the answer is to be protobuf bytes, RESOURCE_EXHAUSTED when it is larger than
 * `maxBytes`.
 */
export const answerStream = async (exchange: StreamExchange, signal: AbortSignal): Promise<Buffer> => {
  const { endpoint, stream, messages, call, dialects, maxBytes } = exchange;
  const { method, name } = endpoint;
  if (!dialects.write.isText) throw new RpcError('UNIMPLEMENTED', `${name} is answered as JSON, one object a line`);
  const parts: Buffer[] = [];
  let length = 0;
  for await (const bytes of stream.open(requestsOf(endpoint, messages), call, signal)) {
    const line = [LINE_START, dialects.write.write(method.output, bytes), LINE_END];
    length += line.reduce((sum, part) => sum + part.length, 0);
    if (length > maxBytes)
      throw new RpcError('RESOURCE_EXHAUSTED', `the answer of ${name} is larger than max (${maxBytes} bytes)`);
    parts.push(...line);
  }
  return Buffer.concat(parts);
};
