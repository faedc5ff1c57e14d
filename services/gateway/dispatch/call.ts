import { randomBytes } from 'node:crypto';

import type { FaultCode } from '../../kernel/fault.js';
import type { Idempotency } from '../../kernel/idempotency.js';
import type { Item, ItemInProgress } from '../../kernel/item.js';
import type { Caller, ClientCertificate } from '../../kernel/ports/authentication.js';
import type { Call } from '../../kernel/rpc.js';
import type { PositionTokens } from '../position-token.js';
import type { Endpoint } from '../routes.js';
import type { ReceivedRequest } from './target.js';
import { givenTraceParent } from './trace-context.js';

/** The transport that received a call. */
export type CallTransport = 'grpc' | 'rest';

/**
 * A received request; `undefined` for a stream of requests. `bytes` is its size, decompressed and before it is decoded;
 * over REST that of the body.
 */
export type ReceivedCall = { readonly request: ReceivedRequest | undefined; readonly bytes: number };

/** The longest duration of a call, in milliseconds, and the text of the DEADLINE_EXCEEDED that ends it after that. */
export type Deadline = { readonly ms: number; readonly message: string };

/** A call as its transport hands it over: of its request, only the headers have been read, and over REST the body. */
export type ArrivedCall = {
  readonly endpoint: Endpoint;
  readonly transport: CallTransport;
  /** The package name by which the caller addresses the service. */
  readonly callersPackage: string;
  /** When the headers, and over REST also the body, had arrived; in milliseconds, by `performance.now()`. */
  readonly startedAt: number;
  readonly deadline: Deadline | undefined;
  readonly header: (name: string) => string | undefined;
  /** The address of the client, without its port. */
  readonly peer?: (() => string) | undefined;
  /** The client certificate of the connection, when there is one. */
  readonly certificate?: (() => ClientCertificate | undefined) | undefined;
  readonly isCancelled: () => boolean;
  /** Calls `listener` when the call is answered or its client has gone; at once when that has happened already. */
  readonly onEnd?: ((listener: () => void) => void) | undefined;
  /** Receives the only request of a call, or takes that of an item, and decodes it as its route asks. */
  readonly receive: () => Promise<ReceivedCall> | ReceivedCall;
  /** Reserves memory for an answer that is composed from this many bytes; waits while the budget is full. */
  readonly reserveMemory: (bytes: number) => Promise<void>;
  /** Replaces that reservation by the size of the answer that is sent, in bytes. */
  readonly reserveAnswer: (bytes: number) => void;
  /** Answers the items of a call that carries many requests. */
  readonly answerItem?: AnswerItem | undefined;
  /** Called when the command has its place in the queue of its stream; for an item. */
  readonly onQueued?: (() => void) | undefined;
  /** Aborted when the process shuts down; for a stream. */
  readonly shutdown?: AbortSignal | undefined;
};

/** Answers an item of a call, through the same interceptors as a call of its own. */
export type AnswerItem = (call: DispatchedCall, item: Item) => ItemInProgress;

/**
 * A call while it goes through the interceptors. A mutable field is set only by the interceptor or handler it names.
 */
export type DispatchedCall = Omit<ArrivedCall, 'answerItem'> &
  Call & {
    /** The caller, set by `authenticate`; empty without authentication, and where an RPC requires none. */
    principal: string;
    /** Set by `authenticate`; `undefined` without authentication, and where an RPC requires none. */
    caller: Caller | undefined;
    /** The log position that the caller has seen, set by `readPosition`. */
    minPosition: bigint | undefined;
    /** Set by `receive`; `undefined` for a stream of requests. */
    request: ReceivedRequest | undefined;
    /**
     * The size of the request in bytes, set by `receive`; 0 until then, and for a stream of requests over gRPC. Over
     * REST it is that of the body, without path and query.
     */
    requestBytes: number;
    /** The trace context that the caller sent, if it is valid; set anew by `spans`. */
    traceParent: string | undefined;
    /** Set by `idempotency` when the caller sent a key. */
    idempotency: Idempotency | undefined;
    /** The log position that the answer reflects, set by the handler. */
    position: bigint | undefined;
    /** The fields of the answer that could not be read, with the fault code of each; filled by the handler. */
    readonly unreadFields: Map<string, FaultCode>;
  };

const ALPHABET_BASE = 36;
const COUNTER_DIGITS = 8;
// A random prefix for each process and a counter: unique, and cheap enough for the hot path.
const processPart = BigInt(`0x${randomBytes(12).toString('hex')}`)
  .toString(ALPHABET_BASE)
  .padStart(12, '0')
  .slice(-12);
let counter = 0;

const newRequestId = (): string =>
  `a-${processPart}${(counter++).toString(ALPHABET_BASE).padStart(COUNTER_DIGITS, '0').slice(-COUNTER_DIGITS)}`;

/** The caller's request id, or a new one: `a-` and 20 lower-case letters and digits. */
const requestIdOf = (given: string | undefined): string =>
  given === undefined || given === '' ? newRequestId() : given;

/** Begins a call. Copies the fields one by one because this is the hot path, and a spread costs several times more. */
export const openCall = (arrival: ArrivedCall): DispatchedCall => {
  const { answerItem } = arrival;
  const call: DispatchedCall = {
    endpoint: arrival.endpoint,
    transport: arrival.transport,
    callersPackage: arrival.callersPackage,
    startedAt: arrival.startedAt,
    deadline: arrival.deadline,
    header: arrival.header,
    peer: arrival.peer,
    certificate: arrival.certificate,
    isCancelled: arrival.isCancelled,
    onEnd: arrival.onEnd,
    receive: arrival.receive,
    reserveMemory: arrival.reserveMemory,
    reserveAnswer: arrival.reserveAnswer,
    onQueued: arrival.onQueued,
    shutdown: arrival.shutdown,
    answerItem: answerItem && ((item) => answerItem(call, item)),
    principal: '',
    caller: undefined,
    requestId: requestIdOf(arrival.header('x-request-id')),
    idempotencyKey: arrival.header('idempotency-key'),
    minPosition: undefined,
    request: undefined,
    requestBytes: 0,
    traceParent: givenTraceParent(arrival.header('traceparent')),
    idempotency: undefined,
    position: undefined,
    unreadFields: new Map(),
    answeredAt: (position) => {
      call.position = position;
    },
    unread: (field, { code }) => {
      call.unreadFields.set(field, code);
    },
  };
  return call;
};

/** Ids that fit into the trailers of a gRPC answer, beside the longest status. */
const SENT_REQUEST_ID = /^[\x20-\x7e]{1,256}$/u;

/**
 * The trailers (gRPC) or headers (REST) that describe an answer: the request id, its log position and its unread
 * fields, if any. Streams over gRPC and Server-Sent Events have none. The events of the request, its line in the log
 * and the audit have the same request id. Proxies often replace `x-request-id`, so callers compare with the id in the
 * answer. An id of more than 256 characters, or not of printable ASCII, is left out.
 */
export const noteOf = (
  { requestId, position, unreadFields }: Pick<DispatchedCall, 'requestId' | 'position' | 'unreadFields'>,
  positions: PositionTokens,
): readonly (readonly [name: string, value: string])[] => [
  ...(SENT_REQUEST_ID.test(requestId) ? ([['flightlog-request-id', requestId]] as const) : []),
  ...(position === undefined ? [] : ([['flightlog-position', positions.format(position)]] as const)),
  ...(unreadFields.size === 0
    ? []
    : ([
        [
          'flightlog-unread',
          [...unreadFields]
            .map((each) => each.join('='))
            .sort()
            .join(', '),
        ],
      ] as const)),
];
