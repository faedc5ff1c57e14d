import type { Urgency } from '../../kernel/aggregate.js';
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

/**
 * A log reader of this process that commands depend on: that of the reference data, or the one that keeps the folded
 * states of streams in memory current.
 */
export interface Follower {
  /**
   * Waits until the reader has reached a position; resolves to `false` when it has not within `timeoutMs`.
   *
   * @throws {RpcError} RESOURCE_EXHAUSTED when too many calls wait for positions.
   */
  reached(position: bigint, timeoutMs: number): Promise<boolean>;
}

/** Admission control for commands that wait for a position. */
export interface CommandAdmission {
  /** The error for a command that is not admitted now. */
  refusal(urgency: Urgency): RpcError | undefined;
  /** Counts a command as in flight until the outcome settles. */
  count<Outcome>(outcome: Promise<Outcome>): Promise<Outcome>;
}

/** The followers that a command with a minimum position waits for, and the admission that it passes before. */
export type PositionWait = {
  readonly followers: readonly Follower[];
  readonly admission?: CommandAdmission | undefined;
};

const allReached = async (followers: readonly Follower[], position: bigint): Promise<void> => {
  const all = await Promise.all(followers.map((each) => each.reached(position, MIN_POSITION_WAIT_MS)));
  if (all.includes(false))
    throw new RpcError('UNAVAILABLE', `this process has not reached position ${position.toString()} yet`);
};

/**
 * Delays a command until every follower has reached the position that the caller has seen. The command is then decided
 * on everything that any process has shown this caller. A read waits for its read models itself.
 *
 * Admission comes first: an overloaded process refuses a command at once instead of after the wait, and a command that
 * waits counts as in flight.
 *
 * @throws {RpcError} UNAVAILABLE when a follower has not reached the position within two seconds; RESOURCE_EXHAUSTED
 * when the command is not admitted or too many calls wait. Nothing is recorded then.
 */
export const awaitPosition =
  ({ followers, admission }: PositionWait): Interceptor =>
  (call, next) => {
    const { minPosition, endpoint } = call;
    const urgency = endpoint.route?.awaitsPosition; // absent for RPCs whose calls do not wait
    if (minPosition === undefined || urgency === undefined) return next();
    const refused = admission?.refusal(urgency);
    if (refused) throw refused;
    const reached = allReached(followers, minPosition);
    return (admission?.count(reached) ?? reached).then(next);
  };
