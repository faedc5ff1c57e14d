import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { FixedRateUnit, type Schedule } from '../../proto/gen/platformidl/admin/schedule_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type ScheduleStatus,
  ScheduleStatusSchema,
  type TickOutcome,
  TickOutcome_Kind as Kind,
  TickOutcomeSchema,
} from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import type { StreamParked } from '../kernel/fault.js';
import { activeSegment, type ScheduledPlan, type Segment } from './calendar/segments.js';
import { nextTicks, segmentTicks } from './calendar/ticks.js';
import type { LaunchPlanName } from '../kernel/identifier.js';
import { isPaused, type PastTick, type ScheduleState } from './state.js';
import { errorText } from '../kernel/error-text.js';

/** The facts that the status of a schedule depends on, besides its own stream. */
export type StatusFacts = ScheduledPlan & {
  /** True while the project of the launch plan is archived. */
  readonly isArchived: boolean;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** The time zone of an expression that names none. */
  readonly timezone: string;
};

/** Maximum number of future fire times in a status. */
const NEXT = 10;

const KINDS = { fired: Kind.FIRED, skipped: Kind.SKIPPED, failed: Kind.FAILED } as const;

export const outcomeMessage = ({ atMs, version, outcome }: PastTick): TickOutcome =>
  create(TickOutcomeSchema, {
    at: timestampFromMs(atMs),
    version,
    kind: KINDS[outcome.kind],
    ...(outcome.kind === 'fired' ? { execution: outcome.execution } : { reason: outcome.reason }),
  });

/** The fire times to come, the oldest tick that is due and not decided, and why there are none. */
type Times = { readonly next: readonly number[]; readonly undecidedMs?: number | undefined; readonly problem?: string };

/** Why a schedule, which registration accepts as FlyteAdmin does, has no fire time. */
const neverFires = ({ ScheduleExpression: expression }: Schedule): string =>
  expression.case === 'rate' && !Object.hasOwn(FixedRateUnit, expression.value.unit)
    ? `it never fires: its rate has the unknown unit ${expression.value.unit}`
    : 'it never fires: no time matches it';

/** The next fire times of the active version, and its oldest tick that is due and not decided. */
const timesOf = (active: Segment, { untilMs, skips }: ScheduleState, { nowMs, timezone }: StatusFacts): Times => {
  try {
    const ticks = segmentTicks(active, timezone);
    const first = ticks.after(Math.max(active.fromMs, untilMs));
    const next = nextTicks(ticks, Math.max(active.fromMs, nowMs, untilMs), NEXT, skips);
    const problem = active.schedule !== undefined && first === undefined ? neverFires(active.schedule) : '';
    return { next, undecidedMs: first !== undefined && first <= nowMs ? first : undefined, problem };
  } catch (error) {
    // An expression of an older release that registration refuses today must not hide the other schedules.
    return { next: [], problem: errorText(error) };
  }
};

/** The time of the oldest tick that is due and has no outcome yet, in milliseconds since 1970. */
const dueSince = ({ open }: ScheduleState, { undecidedMs }: Times, { nowMs }: StatusFacts): number | undefined => {
  const due = [...open.values()].map(({ atMs }) => atMs).filter((atMs) => atMs <= nowMs);
  if (undecidedMs !== undefined) due.push(undecidedMs);
  return due.length === 0 ? undefined : due.reduce((oldest, atMs) => Math.min(oldest, atMs));
};

const planId = (plan: LaunchPlanName, active: Segment | undefined) =>
  ({ resourceType: ResourceType.LAUNCH_PLAN, ...plan, version: active?.version ?? '' }) as const;

/** The status of a schedule whose stream cannot be read. */
export const parkedStatus = ({ plan, segments }: ScheduledPlan, { message }: StreamParked): ScheduleStatus =>
  create(ScheduleStatusSchema, { id: planId(plan, activeSegment(segments)), parked: true, problem: message });

/** Makes a copy: later changes of the state do not change the status. */
export const scheduleStatus = (state: ScheduleState, facts: StatusFacts): ScheduleStatus => {
  const active = activeSegment(facts.segments);
  const paused = isPaused(state);
  const times: Times = active === undefined || facts.isArchived ? { next: [] } : timesOf(active, state, facts);
  const since = dueSince(state, times, facts);
  return create(ScheduleStatusSchema, {
    id: planId(facts.plan, active),
    paused,
    next: paused ? [] : times.next.map((atMs) => timestampFromMs(atMs)),
    past: state.past.map(outcomeMessage).reverse(),
    open: state.open.size,
    ...(since !== undefined && { dueSince: timestampFromMs(since) }),
    fired: BigInt(state.fired),
    skipped: BigInt(state.skipped),
    failed: BigInt(state.failed),
    problem: times.problem ?? '',
    skipping: state.skips.map(timestampFromMs),
  });
};
