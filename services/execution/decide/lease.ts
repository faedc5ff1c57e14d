import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';

import { WorkLeasedSchema, WorkReturnedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { LeaseWork, ReportPhase, ReturnWork } from '../commands.js';
import { isTerminal } from '../phases.js';
import type { ExecutionRefusal } from '../refusals.js';
import { type ExecutionState, isDefaultProducer } from '../state.js';
import type { Lease } from '../state/lease.js';
import { NO_REVISION } from '../state/reports.js';
import { accepted, refused, type ExecutionDecision } from './report.js';

/** The reason why an execution cannot be leased; `undefined` when it can. */
const obstacle = ({ exists, phase, lease, last }: ExecutionState, over: number | undefined) => {
  if (!exists) return { kind: 'execution-not-found' } as const;
  if (isTerminal('workflow', phase)) return { kind: 'execution-ended', current: phase } as const;
  if (lease === undefined) return last === NO_REVISION ? undefined : ({ kind: 'runs-without-lease' } as const);
  return lease.isHeld && lease.number !== over ? ({ kind: 'lease-held', engine: lease.engine } as const) : undefined;
};

/**
 * An execution is leased when it has no lease, or its lease is over. One that an engine outside the feed has begun is
 * left to that engine.
 */
export const decideLease = (state: ExecutionState, { id, to, untilMs, over }: LeaseWork): ExecutionDecision => {
  const refusal = obstacle(state, over);
  if (refusal !== undefined) return refused(refusal);
  const number = BigInt((state.lease?.number ?? 0) + 1);
  const data = create(WorkLeasedSchema, { id, number, ...to, until: timestampFromMs(untilMs) });
  return accepted({ type: 'WorkLeased', data });
};

/** Only the session that has a lease returns it, and once. */
export const decideReturn = (state: ExecutionState, { id, number, session, reason }: ReturnWork): ExecutionDecision => {
  const { lease } = state;
  if (!state.exists) return refused({ kind: 'execution-not-found' });
  if (lease?.number !== number || lease.session !== session)
    return refused({ kind: 'lease-lost', producer: session, engine: lease?.engine ?? '' });
  if (!lease.isHeld || isTerminal('workflow', state.phase)) return accepted();
  return accepted({ type: 'WorkReturned', data: create(WorkReturnedSchema, { id, number: BigInt(number), reason }) });
};

/**
 * True for a report that names no producer and may be of the engine that has the lease. Propeller names none in its
 * reports of the nodes and tasks of an array node; its bridge, which has the lease, is then not itself the producer.
 *
 * @see flytepropeller/pkg/controller/nodes/array/event_recorder.go
 */
const isUnnamed = ({ engine, producerId }: Lease, { producerId: producer, entity }: ReportPhase['envelope']): boolean =>
  producer === '' && entity !== 'workflow' && (producerId !== engine || isDefaultProducer(producerId));

/**
 * The refusal of a report by another producer than the one that has the lease. An execution without leases has none.
 */
export const fenced = ({ lease }: ExecutionState, { envelope }: ReportPhase): ExecutionRefusal | undefined => {
  const { producerId: producer } = envelope;
  if (lease === undefined) return undefined;
  if (lease.isHeld && (lease.producerId === producer || isUnnamed(lease, envelope))) return undefined;
  return { kind: 'lease-lost', producer, engine: lease.isHeld ? lease.engine : '' };
};
