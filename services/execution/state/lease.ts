import type { WorkLeased, WorkReturned } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';

/** The last lease of an execution. */
export type Lease = {
  /** Counts the leases of the execution, from 1. */
  readonly number: number;
  readonly engine: string;
  readonly session: string;
  readonly producerId: string;
  /** False once the engine has returned it. That its session has ended is not known here. */
  readonly isHeld: boolean;
};

/** The lease of an execution that was given to an engine of the feed; `undefined` for any other. */
export type Leasing = { lease: Lease | undefined };

/** The memory of a lease, in bytes. */
export const LEASE_BYTES = 100;

export const evolveLeased = (state: Leasing, { number, engine, session, producerId }: WorkLeased): void => {
  state.lease = { number: Number(number), engine, session, producerId, isHeld: true };
};

export const evolveReturned = (state: Leasing, { number }: WorkReturned): void => {
  if (state.lease?.number === Number(number)) state.lease = { ...state.lease, isHeld: false };
};
