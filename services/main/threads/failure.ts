import { type CrossingFault, crossingOf, faultOfCrossing } from '../../kernel/crossing-faults.js';
import { Fault } from '../../kernel/fault.js';
import { RpcError, type StatusCode } from '../../kernel/rpc.js';

/** An error of one thread as it crosses to another: an RpcError without its cause, a fault with its first cause. */
export type Failure =
  | { readonly status: StatusCode; readonly message: string; readonly retryAfterMs: number | undefined }
  | CrossingFault;

/** The error that {@link failureOf} was made of: an {@link RpcError} or a {@link Fault}. */
export const errorOf = (failure: Failure): Error =>
  'status' in failure
    ? new RpcError(failure.status, failure.message, [], failure.retryAfterMs)
    : faultOfCrossing(failure);

/** @throws anything that is neither an RpcError nor a Fault, which is a bug. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof RpcError) {
    const { code: status, message, retryAfterMs } = error;
    return { status, message, retryAfterMs };
  }
  if (error instanceof Fault) return crossingOf(error);
  throw error;
};
