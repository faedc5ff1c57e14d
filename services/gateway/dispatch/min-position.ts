import { RpcError } from '../../kernel/rpc.js';
import type { PositionTokens } from '../position-token.js';
import type { Interceptor } from './dispatch.js';

/**
 * Reads the log position that the caller has seen, for read-your-writes.
 *
 * @throws {RpcError} INVALID_ARGUMENT when `flightlog-min-position` is not a position of this log.
 */
export const readPosition =
  (positions: PositionTokens): Interceptor =>
  (call, next) => {
    const token = call.header('flightlog-min-position');
    if (token !== undefined) call.minPosition = positions.parse(token);
    return next();
  };

/** The longest time that a command waits for the position that its caller asks for, in milliseconds. */
const MIN_POSITION_WAIT_MS = 2_000;

/** A log reader of this process that commands depend on: the reference data, or the updates of live streams. */
export interface Follower {
  /** Waits until the reader has reached a position; resolves to `false` when it has not within `timeoutMs`. */
  reached(position: bigint, timeoutMs: number): Promise<boolean>;
}

const allReached = async (known: readonly Follower[], position: bigint): Promise<void> => {
  const all = await Promise.all(known.map((each) => each.reached(position, MIN_POSITION_WAIT_MS)));
  if (all.includes(false))
    throw new RpcError('UNAVAILABLE', `this process has not reached position ${position.toString()} yet`);
};

/**
 * Delays a command until every follower has reached the position that the caller has seen. The command is then decided
 * on everything that any process has shown this caller. A read waits for its read models itself.
 *
 * @throws {RpcError} UNAVAILABLE when a follower has not reached the position within two seconds; nothing is recorded.
 */
export const awaitPosition =
  (known: readonly Follower[]): Interceptor =>
  (call, next) => {
    const { minPosition, endpoint } = call;
    if (minPosition === undefined || !endpoint.route?.awaitsPosition) return next();
    return allReached(known, minPosition).then(next);
  };
