import { create } from '@bufbuild/protobuf';
import {
  type WorkAbort,
  type WorkLaunch,
  type WorkLease,
  WorkLeaseSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import type {
  ExecutionError,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { EngineSessionId } from '../../engine-session/events.js';
import type { Leaseholder } from '../../execution/commands.js';
import type { ExecutionId } from '../../kernel/execution-id.js';

/** The outcome of an attempt to lease: the number of the lease, or the reason of the refusal. */
export type Leased =
  | { readonly kind: 'leased'; readonly number: number; readonly position: bigint }
  | { readonly kind: 'refused'; readonly reason: string };

/** A lease, and the session that holds it or claims to hold it. */
export type HeldLease = { readonly id: ExecutionId; readonly number: number; readonly session: string };

/** The state of an execution under a lease. */
export type LeasedWork = { readonly abort: WorkAbort | undefined; readonly ended: Phase | undefined };

/** Leases of executions. Each command is decided on the stream of the execution. */
export interface WorkLeases {
  /**
   * Leases an execution to an engine.
   *
   * @param terms `untilMs`: the end of the lease, in milliseconds since 1970, unless it is renewed; `over`: the number
   *   of the previous lease, if it is over because its session has ended.
   */
  lease(id: ExecutionId, to: Leaseholder, terms: { untilMs: number; over: number | undefined }): Promise<Leased>;
  /** Gives a lease back; true when it is the last of its execution and of this session, also when given back before. */
  giveBack(lease: HeldLease, reason: string): Promise<boolean>;
  /** Records FAILED as the end of the execution, reported by the producer; false when the report is refused. */
  fail(lease: HeldLease, producerId: string, error: ExecutionError): Promise<boolean>;
  /**
   * Reads the abort that is requested for an execution, if any, and the phase in which it has ended; `undefined` when
   * the session does not hold the lease.
   */
  held(lease: HeldLease): Promise<LeasedWork | undefined>;
  /**
   * Composes the launch message of a lease; `undefined` when the lease is over or the execution has ended. Inputs and a
   * closure larger than `maxInlineBytes` are sent as references.
   */
  launch(lease: HeldLease, maxInlineBytes: number): Promise<WorkLaunch | undefined>;
}

/** Sessions of engines. Each command is decided on the stream of the session. */
export interface EngineSessions {
  open(id: EngineSessionId, principal: string): Promise<void>;
  /** Renews a session; false when it has ended. */
  renew(id: EngineSessionId): Promise<boolean>;
  /** Reads the number of renewals of an open session; `undefined` when it has ended or never began. */
  renewals(id: EngineSessionId): Promise<number | undefined>;
  /** Ends a session unless it has more renewals than `renewals`. */
  end(id: EngineSessionId, cause: string, renewals?: number): Promise<void>;
}

/** Makes the message of a lease. */
export const leaseOf = ({ id, number }: Pick<HeldLease, 'id' | 'number'>): WorkLease =>
  create(WorkLeaseSchema, { execution: id, number: BigInt(number) });
