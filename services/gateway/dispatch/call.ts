import { randomBytes } from 'node:crypto';

import type { DescMessage, MessageShape } from '@bufbuild/protobuf';

import type { FaultCode } from '../../kernel/fault.js';
import type { Idempotency } from '../../kernel/idempotency.js';
import type { Call } from '../../kernel/rpc.js';
import type { PositionTokens } from '../position-token.js';
import type { Endpoint } from '../routes.js';

/** How a call came. */
export type Transport = 'grpc' | 'rest';

/** A request as its handler takes it: decoded, or the bytes of the message. */
export type ReceivedRequest = MessageShape<DescMessage> | Uint8Array;

/** How long the caller waits for the end of a call, and what it is told after that. */
export type Deadline = { readonly ms: number; readonly message: string };

/** What a transport knows of a call when it begins. */
export type Arrival = {
  readonly endpoint: Endpoint;
  readonly transport: Transport;
  /** In milliseconds of the process. */
  readonly startedAt: number;
  readonly deadline: Deadline | undefined;
  readonly header: (name: string) => string | undefined;
  readonly isCancelled: () => boolean;
  readonly whenOver?: ((hear: () => void) => void) | undefined;
  /** Receives the one request of a unary call and decodes it as its route asks; nothing for a stream. */
  readonly receive: () => Promise<ReceivedRequest | undefined>;
  /** Waits until there is memory for an answer that is put together from so many bytes. */
  readonly makeRoom: (bytes: number) => Promise<void>;
  /** Exchanges that for the answer that is sent, in bytes. */
  readonly holdAnswer: (bytes: number) => void;
};

/** A call on its way through the interceptors. Fields that may be written are written by the one that is named. */
export type DispatchedCall = Arrival &
  Call & {
    /** By `authenticate`: the caller; empty where there is no authentication. */
    principal: string;
    /** By `readPosition`. */
    minPosition: bigint | undefined;
    /** By `receive`. */
    request: ReceivedRequest | undefined;
    /** By `receive`, in bytes, where they are known without encoding the request again. */
    requestBytes: number | undefined;
    /** By `idempotency`. */
    idempotency: Idempotency | undefined;
    /** By its handler: the position that the answer stands on. */
    position: bigint | undefined;
    /** By its handler: the fields that could not be read, and why. */
    readonly unreadFields: Map<string, FaultCode>;
  };

const ALPHABET_BASE = 36;
const COUNTER_DIGITS = 8;
// Random once for each process and counted from there: unique, and cheap enough for the hot path.
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

/** Begins a call. Field by field, because every event comes by here, and objects that are spread cost several times that. */
export const openCall = (arrival: Arrival): DispatchedCall => {
  const call: DispatchedCall = {
    endpoint: arrival.endpoint,
    transport: arrival.transport,
    startedAt: arrival.startedAt,
    deadline: arrival.deadline,
    header: arrival.header,
    isCancelled: arrival.isCancelled,
    whenOver: arrival.whenOver,
    receive: arrival.receive,
    makeRoom: arrival.makeRoom,
    holdAnswer: arrival.holdAnswer,
    principal: '',
    requestId: requestIdOf(arrival.header('x-request-id')),
    idempotencyKey: arrival.header('idempotency-key'),
    minPosition: undefined,
    request: undefined,
    requestBytes: undefined,
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

/** What an answer says of itself besides the message, by the name of the trailer or header. */
export const noteOf = (
  { position, unreadFields }: Pick<DispatchedCall, 'position' | 'unreadFields'>,
  positions: PositionTokens,
): readonly (readonly [name: string, value: string])[] => [
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
