import { randomBytes } from 'node:crypto';

import type { Call } from '../kernel/rpc.js';
import type { PositionTokens } from './position-token.js';

/** A call on its way, and the position that its answer stands on once the handler has said so. */
export type OpenCall = Call & { position: bigint | undefined };

/** What a transport knows of a request besides its message. */
export type Arrival = {
  readonly header: (name: string) => string | undefined;
  readonly isCancelled: () => boolean;
  readonly makeRoom: (bytes: number) => Promise<void>;
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
export const openCall = (arrival: Arrival, requestId: string, positions: PositionTokens): OpenCall => {
  const minPosition = arrival.header('flightlog-min-position');
  const idempotencyKey = arrival.header('idempotency-key');
  const call: OpenCall = {
    principal: '',
    requestId,
    isCancelled: arrival.isCancelled,
    makeRoom: arrival.makeRoom,
    position: undefined,
    answeredAt: (position) => {
      call.position = position;
    },
    ...(minPosition === undefined ? undefined : { minPosition: positions.parse(minPosition) }),
    ...(idempotencyKey === undefined ? undefined : { idempotencyKey }),
  };
  return call;
};
