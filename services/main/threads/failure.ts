import {
  AppendTooLarge,
  Fault,
  type FaultCode,
  OutcomeUnknown,
  RevisionConflict,
  StoreUnavailable,
} from '../../kernel/fault.js';
import { RpcError, type StatusCode } from '../../kernel/rpc.js';

/** An error of one thread as it crosses to another; its cause stays behind. */
export type Failure = { readonly message: string } & (
  | { readonly status: StatusCode; readonly retryAfterMs: number | undefined }
  | { readonly fault: FaultCode }
);

/** The faults that the other thread tells apart; all others are a {@link StoreUnavailable} there. */
const FAULTS: Partial<Record<FaultCode, new (message: string) => Fault>> = {
  'revision-conflict': RevisionConflict,
  'append-too-large': AppendTooLarge,
  'outcome-unknown': OutcomeUnknown,
};

/** The error that {@link failureOf} was made of: an {@link RpcError} or a {@link Fault}. */
export const errorOf = (failure: Failure): Error =>
  'status' in failure
    ? new RpcError(failure.status, failure.message, [], failure.retryAfterMs)
    : new (FAULTS[failure.fault] ?? StoreUnavailable)(failure.message);

/** @throws anything that is neither an RpcError nor a Fault, which is a bug. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof RpcError) {
    const { code: status, message, retryAfterMs } = error;
    return { status, message, retryAfterMs };
  }
  if (error instanceof Fault) return { fault: error.code, message: error.message };
  throw error;
};
