import { create } from '@bufbuild/protobuf';
import {
  type WorkAbort,
  type WorkLaunch,
  type WorkLease,
  WorkLeaseSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import type { ExecutionError } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { EngineSessionId } from '../../engine-session/events.js';
import type { Leaseholder } from '../../execution/commands.js';
import type { StreamName } from '../../kernel/stream.js';

/** An execution, as the feed names it. */
export type WorkId = { readonly project: string; readonly domain: string; readonly name: string };

/** The outcome of an attempt to lease: the number of the lease, or why there is none. */
export type Leased =
  | { readonly kind: 'leased'; readonly number: number; readonly position: bigint }
  | { readonly kind: 'refused'; readonly why: string };

/** A lease and the session that has it. */
export type HeldLease = { readonly id: WorkId; readonly number: number; readonly session: string };

/** Leases of executions: each of these is decided on the stream of the execution. */
export interface WorkLeases {
  streamOf(id: WorkId): StreamName;
  /** @param over the number of the lease that is over because its session has ended. */
  lease(id: WorkId, to: Leaseholder, terms: { untilMs: number; over: number | undefined }): Promise<Leased>;
  /** Gives a lease back; true when the session had it. */
  giveBack(lease: HeldLease, reason: string): Promise<boolean>;
  /** Ends the execution FAILED in the name of the engine; true when the session had the lease. */
  fail(lease: HeldLease, producerId: string, error: ExecutionError): Promise<boolean>;
  /** The abort that an execution waits for, if any; `undefined` when the session does not have the lease. */
  held(lease: HeldLease): Promise<{ readonly abort: WorkAbort | undefined } | undefined>;
  /** The message that goes with a lease. `maxInlineBytes` bounds what is sent by value; `undefined` when the lease is over. */
  launch(lease: HeldLease, maxInlineBytes: number): Promise<WorkLaunch | undefined>;
}

/** Sessions of engines: each of these is decided on the stream of the session. */
export interface EngineSessions {
  open(id: EngineSessionId, principal: string): Promise<void>;
  /** False when the session has ended. */
  renew(id: EngineSessionId): Promise<boolean>;
  /** The number of renewals of an open session; `undefined` when it has ended, or never began. */
  renewals(id: EngineSessionId): Promise<number | undefined>;
  /** Ends a session, unless it was renewed more often than `renewals`. */
  end(id: EngineSessionId, cause: string, renewals?: number): Promise<void>;
}

/** A lease as messages name it. */
export const leaseOf = ({ id, number }: Pick<HeldLease, 'id' | 'number'>): WorkLease =>
  create(WorkLeaseSchema, { execution: id, number: BigInt(number) });
