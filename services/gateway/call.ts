import { randomBytes } from 'node:crypto';

import type { FaultCode } from '../kernel/fault.js';
import type { Call, HashLarge } from '../kernel/rpc.js';
import type { PositionTokens } from './position-token.js';

/** A call on its way, and what its handler has said of the answer besides the message. */
export type OpenCall = Call & {
  /** The position that the answer stands on. */
  position: bigint | undefined;
  /** The fields that could not be read, and why. */
  readonly unreadFields: Map<string, FaultCode>;
};

/** What a transport knows of a request besides its message. */
export type Arrival = {
  readonly header: (name: string) => string | undefined;
  readonly isCancelled: () => boolean;
  readonly whenOver?: (hear: () => void) => void;
  readonly makeRoom: (bytes: number) => Promise<void>;
};

/** What a process gives to all its calls. */
export type CallServices = {
  readonly positions: PositionTokens;
  readonly hashLarge?: HashLarge;
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
export const requestIdOf = (given: string | undefined): string =>
  given === undefined || given === '' ? newRequestId() : given;

/**
 * Opens a call from what came with the request.
 *
 * @throws {RpcError} INVALID_ARGUMENT when `flightlog-min-position` is not a position of this log.
 */
export const openCall = (arrival: Arrival, requestId: string, { positions, hashLarge }: CallServices): OpenCall => {
  const minPosition = arrival.header('flightlog-min-position');
  const idempotencyKey = arrival.header('idempotency-key');
  const call: OpenCall = {
    principal: '',
    requestId,
    isCancelled: arrival.isCancelled,
    makeRoom: arrival.makeRoom,
    ...(arrival.whenOver && { whenOver: arrival.whenOver }),
    ...(hashLarge && { hashLarge }),
    position: undefined,
    unreadFields: new Map(),
    answeredAt: (position) => {
      call.position = position;
    },
    unread: (field, { code }) => {
      call.unreadFields.set(field, code);
    },
    ...(minPosition === undefined ? undefined : { minPosition: positions.parse(minPosition) }),
    ...(idempotencyKey === undefined ? undefined : { idempotencyKey }),
  };
  return call;
};

/** What an answer says of itself besides the message, by the name of the trailer or header. */
export const noteOf = (
  { position, unreadFields }: OpenCall,
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
