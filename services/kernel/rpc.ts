import {
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';

import type { Fault } from './fault.js';
import { timeOutOfRange } from './time-range.js';
import type { Idempotency } from './idempotency.js';

/** The statuses that are ever answered. UNKNOWN is not among them, and INTERNAL is only for a bug of ours. */
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

/** A message that goes with a status, packed under the package that the caller used. */
export type StatusDetail = { readonly schema: DescMessage; readonly message: MessageShape<DescMessage> };

/** A request that is answered with a status other than OK. */
export class RpcError extends Error {
  readonly code: StatusCode;
  readonly details: readonly StatusDetail[];
  /** After how many milliseconds the caller may try again, where that is known. */
  readonly retryAfterMs: number | undefined;

  constructor(code: StatusCode, message: string, details: readonly StatusDetail[] = [], retryAfterMs?: number) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A required field is empty. */
export const missing = (field: string): RpcError => new RpcError('INVALID_ARGUMENT', `missing ${field}`);

/** A field has a value that it cannot have. */
export const invalid = (field: string, why?: string): RpcError =>
  new RpcError('INVALID_ARGUMENT', `invalid value for ${field}${why === undefined ? '' : `: ${why}`}`);

/** One request on its way, whatever transport it came by. */
export interface Call {
  /** The authenticated caller; empty where there is no authentication. */
  readonly principal: string;
  readonly requestId: string;
  /** Reads see at least this position, or answer UNAVAILABLE. */
  readonly minPosition?: bigint | undefined;
  /** The caller's own name for the request, as it was sent. */
  readonly idempotencyKey?: string | undefined;
  /** What that name stands for; there when it is a good one. */
  readonly idempotency?: Idempotency | undefined;
  isCancelled(): boolean;
  /** Hears when nobody waits for the answer any more: it has been given, its time is over, or the caller has gone. */
  readonly whenOver?: ((hear: () => void) => void) | undefined;
  /**
   * Waits until the transport has room for so many bytes of an answer; asked before they are read from where they are.
   *
   * @throws {RpcError} RESOURCE_EXHAUSTED when there is none in time; CANCELLED when the caller has gone.
   */
  readonly makeRoom?: (bytes: number) => Promise<void>;
  /** Says which position the answer stands on; the transport sends it along as `flightlog-position`. */
  answeredAt(position: bigint): void;
  /**
   * Says that a field of the answer is unset because what it holds could not be read; the transport sends it along as
   * `flightlog-unread`.
   */
  readonly unread?: (field: string, fault: Fault) => void;
}

/** An answer that is already encoded goes out as it is. */
export type Answer<Output extends DescMessage> = MessageShape<Output> | Uint8Array;

/** What takes the requests of an RPC that are too large to be decoded between other calls. */
export type LargeRequests = {
  /** They are larger than this. */
  readonly aboveBytes: number;
  /** @throws {RpcError} INVALID_ARGUMENT when the bytes are no message of the RPC's: nobody has looked at them before. */
  readonly handle: (request: Uint8Array, call: Call) => Promise<Answer<DescMessage>>;
};

/** One RPC and what answers it. */
export type Route = {
  readonly method: DescMethod;
  /** `message`: the transport decodes the request. `bytes`: the handler takes the request as protobuf bytes. */
  readonly takes: 'message' | 'bytes';
  readonly handle: (request: never, call: Call) => Promise<Answer<DescMessage>>;
  readonly large?: LargeRequests;
  /** A command, decided on what follows the log here and may be behind the position that its caller has seen. */
  readonly awaitsPosition?: true;
};

/** One RPC whose requests or answers are a stream, each the bytes of one message. */
export type StreamRoute = {
  readonly method: DescMethod;
  readonly takes: 'stream';
  /** Answers end when the signal says that the caller has gone. */
  readonly open: (requests: AsyncIterable<Uint8Array>, call: Call, signal: AbortSignal) => AsyncIterable<Uint8Array>;
};

/** One RPC of any kind, and what answers it. */
export type AnyRoute = Route | StreamRoute;

/** No request has a time that cannot be told as one. */
export const assertTimes = (schema: DescMessage, request: Message): void => {
  const field = timeOutOfRange(schema, request);
  if (field !== undefined) throw invalid(field, 'out of range');
};

/** Binds a unary RPC to what answers it. */
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

/** Binds a unary RPC of the hot path: the request comes undecoded. */
export const bytesRoute = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  handle: (request: Uint8Array, call: Call) => Promise<Answer<Output>>,
): Route => ({ method, takes: 'bytes', handle });
