import { RpcError } from '../../kernel/rpc.js';
import type { PositionTokens } from '../position-token.js';
import type { Interceptor } from './dispatch.js';

/**
 * Reads which position the caller has seen.
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

/** How long a command waits for the position that its caller asks for. */
const MIN_POSITION_WAIT_MS = 2_000;

/** What follows the log here and commands are decided on: the reference, and what keeps the live streams current. */
export interface Follower {
  /** Waits until it has come to a position; says whether it has. */
  reached(position: bigint, timeoutMs: number): Promise<boolean>;
}

const allReached = async (known: readonly Follower[], position: bigint): Promise<void> => {
  const all = await Promise.all(known.map((each) => each.reached(position, MIN_POSITION_WAIT_MS)));
  if (all.includes(false))
    throw new RpcError('UNAVAILABLE', `this process has not come to position ${position.toString()} yet`);
};

/**
 * Holds a command until all that it is decided on has come to the position that its caller names: whatever the caller
 * was told of, by whichever process, is known then. A read waits for its views by itself.
 *
 * @throws {RpcError} UNAVAILABLE when it has not come that far in time; nothing is recorded then.
 */
export const awaitPosition =
  (known: readonly Follower[]): Interceptor =>
  (call, next) => {
    const { minPosition, endpoint } = call;
    if (minPosition === undefined || !endpoint.route?.awaitsPosition) return next();
    return allReached(known, minPosition).then(next);
  };
