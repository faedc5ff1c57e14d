import { type DescMessage, fromBinary, fromJsonString, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { type Status, StatusSchema } from '../../../../proto/gen/google/rpc/status_pb.js';
import { bindingOf } from '../../../../interface/rest/binding.js';
import { EventLogService } from '../../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { ANSWER_DEPTH } from '../../../kernel/encoding/answer-depth.js';
import { grpcStatusNumber } from '../../../kernel/grpc-status.js';
import { type StreamOptions, type Transport, UNREAD } from './connection.js';
import { ConnectionLost, ForeignAnswer, Refused, TimedOut, Unreachable } from './refusal.js';
import { eventsIn, type ServerSentEvent } from './server-sent-events.js';

const OCTETS = 'application/octet-stream';

const EVENTS = 'text/event-stream';

const READING = { ignoreUnknownFields: true, recursionLimit: ANSWER_DEPTH };

const isOf = (mediaType: string, answer: Response): boolean =>
  answer.headers.get('content-type')?.startsWith(mediaType) === true;

const isJson = (answer: Response): boolean => isOf('application/json', answer);

/** The status in the body of an error: JSON where the caller asked for Server-Sent Events, otherwise a message. */
const statusIn = async (answer: Response): Promise<Pick<Status, 'code' | 'message'>> =>
  isJson(answer)
    ? ((await answer.json()) as Status)
    : fromBinary(StatusSchema, new Uint8Array(await answer.arrayBuffer()));

/** The refusal in an answer; a proxy in between may answer with text, or with JSON of its own. */
const refusalOf = async (answer: Response): Promise<Refused> => {
  try {
    const { code, message } = await statusIn(answer);
    if (typeof code === 'number' && code !== 0) return new Refused(code, message);
  } catch {
    // Below, the HTTP status stands for the reason.
  }
  return new Refused(
    grpcStatusNumber(answer.status >= 502 ? 'UNAVAILABLE' : 'UNKNOWN'),
    `the server answered ${answer.status}`,
  );
};

/** The codes of a connection that broke after the request had been sent on it. */
const BROKEN: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** True when there was a connection: `fetch` has the error of the network as the cause of its own. */
const wasConnected = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && 'code' in error.cause && BROKEN.has(error.cause.code);

/** The text of the network's error. Where a name has several addresses, it is a code: each address has its own text. */
const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const { message = '', code = '' } = cause as { readonly message?: string; readonly code?: string };
  return message || code;
};

const sendTo =
  (server: string) =>
  async (path: string, request: RequestInit): Promise<Response> => {
    const answer = await fetch(`${server}${path}`, request).catch((cause: unknown) => {
      throw new (wasConnected(cause) ? ConnectionLost : Unreachable)(server, reasonOf(cause), { cause });
    });
    if (!answer.ok) throw await refusalOf(answer);
    return answer;
  };

/**
 * The message of an answer; metadata of the authorization server is always JSON (RFC 8414, section 3.2).
 *
 * @throws {ConnectionLost} when the answer ends too early.
 * @throws {ForeignAnswer} when it has no such message.
 */
const messageIn = async <Output extends DescMessage>(
  output: Output,
  answer: Response,
  server: string,
): Promise<MessageShape<Output>> => {
  if (!isJson(answer) && !isOf(OCTETS, answer)) throw new ForeignAnswer(server);
  const body = await answer.arrayBuffer().catch((cause: unknown) => {
    throw new ConnectionLost(server, reasonOf(cause), { cause });
  });
  try {
    return isJson(answer)
      ? fromJsonString(output, new TextDecoder().decode(body), READING)
      : fromBinary(output, new Uint8Array(body), READING);
  } catch (cause) {
    throw new ForeignAnswer(server, { cause });
  }
};

/** The message in the data of a Server-Sent Event. @throws {ForeignAnswer} when it has no such message. */
const messageOfEvent = <Output extends DescMessage>(
  output: Output,
  { data }: ServerSentEvent,
  server: string,
): MessageShape<Output> => {
  try {
    return fromJsonString(output, data, READING);
  } catch (cause) {
    throw new ForeignAnswer(server, { cause });
  }
};

/**
 * RPCs by their HTTP bindings, with protobuf bytes both ways; streams are Server-Sent Events.
 *
 * @param callMs the time for a call until its answer is complete; a stream may take any time.
 */
export const restTransport = (url: string, callMs: number): Transport => {
  const server = url.replace(/\/$/u, '');
  const send = sendTo(server);
  const events = async function* (path: string, options: StreamOptions): AsyncIterable<ServerSentEvent> {
    const answer = await send(path, { ...options, headers: { accept: EVENTS, ...options.headers } });
    if (!isOf(EVENTS, answer)) throw new ForeignAnswer(server);
    try {
      yield* eventsIn(answer);
    } catch (cause) {
      throw new ConnectionLost(server, reasonOf(cause), { cause });
    }
  };
  return {
    call: async (method, request, headers, onUnread) => {
      const { verb, path, hasBody } = bindingOf(method, request);
      const signal = AbortSignal.timeout(callMs);
      try {
        const answer = await send(path, {
          method: verb,
          headers: { accept: OCTETS, ...headers, ...(hasBody && { 'content-type': OCTETS }) },
          ...(hasBody && { body: new Uint8Array(toBinary(method.input, request)) }),
          signal,
        });
        const unread = answer.headers.get(UNREAD);
        if (unread !== null) onUnread?.(unread);
        return await messageIn(method.output, answer, server);
      } catch (cause) {
        throw signal.aborted ? new TimedOut(server, callMs, { cause }) : cause;
      }
    },
    async *open(method, request, options) {
      for await (const event of events(bindingOf(method, request).path, options))
        yield messageOfEvent(method.output, event, server);
    },
    async *tail(request, options) {
      const { path } = bindingOf(EventLogService.method.tail, request);
      for await (const { id, event, data } of events(path, options))
        yield { position: id, text: event === 'event' ? data : undefined };
    },
    close: () => undefined,
  };
};
