import {
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';

import type { Urgency } from './aggregate.js';
import type { Fault } from './fault.js';
import { timeOutOfRange } from './values/time-range.js';
import type { Idempotency } from './idempotency.js';
import type { Item, ItemInProgress } from './item.js';
import type { Caller } from './ports/authentication.js';

/**
 * The status codes in use, except those of consumer groups, which EventStoreDB has chosen. UNKNOWN is not among them,
 * and INTERNAL is only for bugs of flightlog and corrupt data.
 */
export type StatusCode =
  | 'CANCELLED'
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'UNAUTHENTICATED';

/** A detail message of a status. The transport names its type in the package that the client used. */
export type StatusDetail = { readonly schema: DescMessage; readonly message: MessageShape<DescMessage> };

/** A request fails with a status other than OK. */
export class RpcError extends Error {
  readonly code: StatusCode;
  readonly details: readonly StatusDetail[];
  /** Milliseconds after which the caller may try again, where that is known. */
  readonly retryAfterMs: number | undefined;

  constructor(code: StatusCode, message: string, details: readonly StatusDetail[] = [], retryAfterMs?: number) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }
}

/** INVALID_ARGUMENT: a required field is empty. */
export const missing = (field: string): RpcError => new RpcError('INVALID_ARGUMENT', `missing ${field}`);

/** INVALID_ARGUMENT: a field has a value that it must not have. */
export const invalid = (field: string, reason?: string): RpcError =>
  new RpcError('INVALID_ARGUMENT', `invalid value for ${field}${reason === undefined ? '' : `: ${reason}`}`);

/**
 * UNAVAILABLE: something outside of the process does not answer.
 *
 * @param cause the reason, which is logged and not sent to the caller.
 */
export const unavailable = (message: string, cause: unknown, retryAfterMs?: number): RpcError => {
  const error = new RpcError('UNAVAILABLE', message, [], retryAfterMs);
  error.cause = cause;
  return error;
};

/** CANCELLED: the client has disconnected, or its deadline has passed, so an answer cannot be sent. */
export const callerDisconnected = (): RpcError => new RpcError('CANCELLED', 'the caller has gone');

/** A call in progress, on any transport: one request, or a stream of them. */
export interface Call {
  /** The authenticated caller; empty without one. */
  readonly principal: string;
  /** The identity and the permissions of the caller; `undefined` for a call that is not authenticated. */
  readonly caller?: Caller | undefined;
  /** The `x-request-id` that the client sent, or a new one. The events, log lines and audit of the call have it. */
  readonly requestId: string;
  /** The W3C trace context (`traceparent`): where tracing is on, that of the call's own span; else the caller's. */
  readonly traceParent?: string | undefined;
  /** Reads include at least the events up to this position, or fail. */
  readonly minPosition?: bigint | undefined;
  /** The idempotency key of the request, as the client sent it. */
  readonly idempotencyKey?: string | undefined;
  /** The key with the RPC and the content of the request; set where a key was sent. */
  readonly idempotency?: Idempotency | undefined;
  /** True when an answer cannot be sent any more: the client has disconnected, or the deadline has passed. */
  isCancelled(): boolean;
  /**
   * Calls `listener` when the call is over: it was answered, its deadline has passed, or the client has disconnected.
   */
  readonly onEnd?: ((listener: () => void) => void) | undefined;
  /**
   * Waits until the transport's memory budget has `bytes` left for an answer. Call it before the bytes are read from
   * their source.
   *
   * @throws {RpcError} RESOURCE_EXHAUSTED when the budget stays full; CANCELLED when the client has disconnected.
   */
  readonly reserveMemory?: (bytes: number) => Promise<void>;
  /** Sets the log position that the answer is based on; the transport sends it as `flightlog-position`. */
  answeredAt(position: bigint): void;
  /**
   * Reports that a field of the answer is unset because its value could not be read; the transport sends the field's
   * name as `flightlog-unread`.
   */
  readonly unread?: (field: string, fault: Fault) => void;
  /**
   * Begins to answer one of the requests that this call carries, through the checks that a call of its own would pass.
   */
  readonly answerItem?: ((item: Item) => ItemInProgress) | undefined;
  /**
   * Set for a request that came inside another call (a stream or a batch of requests): to be called when the request's
   * command is queued at the stream of events that it changes.
   */
  readonly onQueued?: (() => void) | undefined;
  /** Aborted when the process shuts down: an endless stream then answers the messages that it has taken, and ends. */
  readonly shutdown?: AbortSignal | undefined;
}

/** An answer as a message, or as encoded bytes that are sent unchanged. */
export type Answer<Output extends DescMessage> = MessageShape<Output> | Uint8Array;

/** Handler for the large requests of an RPC, which the transport neither decodes nor validates. */
export type LargeRequests = {
  /** Requests larger than this go to `handle`. */
  readonly aboveBytes: number;
  /** @throws {RpcError} INVALID_ARGUMENT when the bytes are not the RPC's request message. */
  readonly handle: (request: Uint8Array, call: Call) => Promise<Answer<DescMessage>>;
};

/** One unary RPC and its handler. */
export type Route = {
  readonly method: DescMethod;
  /** `message`: the transport decodes the request. `bytes`: the handler takes the request as protobuf bytes. */
  readonly takes: 'message' | 'bytes';
  readonly handle: (request: never, call: Call) => Promise<Answer<DescMessage>>;
  readonly large?: LargeRequests;
  /**
   * Set for an RPC whose command is decided on data which may lag behind the log: it is delayed until that data
   * includes the caller's `minPosition`. The value is the urgency by which its calls are admitted before that.
   */
  readonly awaitsPosition?: Urgency;
};

/** One streaming RPC and its handler: requests and answers are each the bytes of one message. */
export type StreamRoute = {
  readonly method: DescMethod;
  readonly takes: 'stream';
  /** The handler must end its answers when the signal reports that the client has disconnected. */
  readonly open: (requests: AsyncIterable<Uint8Array>, call: Call, signal: AbortSignal) => AsyncIterable<Uint8Array>;
};

/**
 * One streaming RPC of many small messages and its handler. It takes the requests that have arrived together as one
 * batch, and gives batches of answers, because a turn of an iterator for each message would cost more than the message.
 */
export type BatchStreamRoute = {
  readonly method: DescMethod;
  readonly takes: 'batches';
  /**
   * The handler checks that the requests decode: the transport does not. The handler must end its answers when the
   * signal reports that the client has disconnected.
   */
  readonly open: (
    requests: AsyncIterable<readonly Uint8Array[]>,
    call: Call,
    signal: AbortSignal,
  ) => AsyncIterable<readonly Uint8Array[]>;
};

/** The encoding in which a client follows: framed gRPC messages, or Server-Sent Events. */
export type FollowForm = 'messages' | 'events';

/** The client of an RPC without end; `disconnected` is aborted when it has disconnected. */
export type FollowingClient = { readonly form: FollowForm; readonly disconnected: AbortSignal };

/** One RPC with one request and answers without end, and its handler. Many clients may follow the same answers. */
export type FollowRoute = {
  readonly method: DescMethod;
  readonly takes: 'follow';
  /**
   * Yields bytes as they are sent: any number of whole answers at a time, in the form of the client. So the handler can
   * encode an answer once for all clients of a form. It must end when the client is gone.
   */
  readonly follow: (request: Uint8Array, call: Call, client: FollowingClient) => AsyncIterable<Uint8Array>;
  /**
   * A client that takes longer than this, in milliseconds, to read what waits for it is disconnected; by default it may
   * take any time.
   */
  readonly maxStallMs?: number;
};

/** One RPC of any kind and its handler. */
export type AnyRoute = Route | StreamRoute | BatchStreamRoute | FollowRoute;

/**
 * Checks the timestamps and durations of a request.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the first field whose value is out of range.
 */
export const assertTimes = (schema: DescMessage, request: Message): void => {
  const field = timeOutOfRange(schema, request);
  if (field !== undefined) throw invalid(field, 'out of range');
};

/**
 * Binds a unary RPC to its handler, which takes the decoded request. Its times are checked before, by
 * {@link assertTimes}; the handler of large requests checks them itself.
 */
export const route = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  handle: (request: MessageShape<Input>, call: Call) => Promise<Answer<Output>>,
  large?: LargeRequests,
): Route => ({
  method,
  takes: 'message',
  ...(large && { large }),
  handle: (request: MessageShape<Input>, call) => {
    assertTimes(method.input, request);
    return handle(request, call);
  },
});

/** Binds a unary RPC to its handler, which takes the request as undecoded bytes: engine events, and large messages. */
export const bytesRoute = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  handle: (request: Uint8Array, call: Call) => Promise<Answer<Output>>,
): Route => ({ method, takes: 'bytes', handle });
