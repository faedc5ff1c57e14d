import { RpcError, type StatusCode } from '../../kernel/rpc.js';
import type { ExecutionRefusal } from '../refusals.js';
import type { ExecutionId } from '../../kernel/execution-id.js';

/** The reasons for not launching. */
export type LaunchRefusal =
  /** The launch plan has as many executions as its policy allows. */
  | { readonly kind: 'limit-reached'; readonly max: number; readonly plan: string }
  /** The request cannot be launched, such as a malformed one, or one that names a missing entity. */
  | { readonly kind: 'invalid'; readonly error: RpcError }
  /** The stream of the execution does not allow its creation. */
  | { readonly kind: 'execution'; readonly refusal: ExecutionRefusal };

/** The result of a launch. A refused launch has recorded nothing in the stream of the execution. */
export type Launched =
  | { readonly kind: 'launched'; readonly id: ExecutionId; readonly position: bigint }
  | {
      readonly kind: 'refused';
      readonly id: ExecutionId;
      readonly refusal: LaunchRefusal;
      /** Position of the events that the refusal depends on; absent when no decision on the stream was made. */
      readonly position?: bigint;
    };

/** The statuses of temporary failures, which do not mean that the request is wrong. */
const TRANSIENT: ReadonlySet<StatusCode> = new Set([
  'ABORTED',
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'INTERNAL',
  'RESOURCE_EXHAUSTED',
  'UNAVAILABLE',
]);

/** Answers the errors of a request's checks as refusals; faults and transient statuses are thrown on. */
export const errorsAsRefusals = async (id: ExecutionId, launch: () => Promise<Launched>): Promise<Launched> => {
  try {
    return await launch();
  } catch (error) {
    if (!(error instanceof RpcError) || TRANSIENT.has(error.code)) throw error;
    return { kind: 'refused', id, refusal: { kind: 'invalid', error } };
  }
};
