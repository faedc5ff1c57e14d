import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  ScheduleFireResponseSchema,
  ScheduleService,
  type ScheduleSkipRequest,
  type ScheduleStatus,
} from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { contextOf, recordedBefore } from '../kernel/command-context.js';
import { errorText } from '../kernel/error-text.js';
import { sha256Hex } from '../kernel/encoding/hash.js';
import { type Call, invalid, missing, type Route, route, RpcError } from '../kernel/rpc.js';
import type { Ticks } from './calendar/cron-ticks.js';
import { activeSegment, type ScheduledPlan, type Segment } from './calendar/segments.js';
import { nextTicks, segmentTicks } from './calendar/ticks.js';
import type { ScheduleCommand, TickId } from './commands.js';
import { scheduleAggregate } from './decider.js';
import type { LaunchPlanName } from '../kernel/identifier.js';
import { scheduleStream } from './events.js';
import { hasSchedule, listSchedules, type ScheduleReads, statusNow } from './list.js';
import type { Launcher } from './ports.js';
import type { ManualTick } from './state.js';
import { outcomeMessage } from './status.js';

export type ScheduleServices = ScheduleReads & { readonly launcher: Launcher };

const SECOND_MS = 1_000;
const REQUEST_DIGITS = 32;
/** The most ticks of a schedule that may wait to be skipped. */
const MAX_SKIPS = 1_000;

const planText = ({ project, domain, name }: LaunchPlanName): string => `${project}/${domain}/${name}`;

/** Finds a launch plan with a schedule by its name. */
const scheduledPlan = async ({ activations }: ScheduleServices, request: LaunchPlanName): Promise<ScheduledPlan> => {
  const { project, domain, name } = request;
  for (const field of ['project', 'domain', 'name'] as const) if (request[field] === '') throw missing(field);
  await activations.current();
  const plan = { project, domain, name };
  const scheduled = { plan, segments: activations.of(plan) };
  if (hasSchedule(scheduled)) return scheduled;
  throw new RpcError('NOT_FOUND', `launch plan ${planText(request)} has no schedule, or was never active`);
};

const alreadyDecided = (): RpcError => new RpcError('FAILED_PRECONDITION', 'the tick at this time is decided already');

const beforeActivation = ({ fromMs }: Segment): RpcError =>
  new RpcError(
    'FAILED_PRECONDITION',
    `the active version has ticks only after its activation, at ${new Date(fromMs).toISOString()}`,
  );

const record = async (
  { sessions }: ScheduleServices,
  plan: LaunchPlanName,
  command: ScheduleCommand,
  call: Call,
): Promise<void> => {
  const answer = await sessions.handle(scheduleAggregate, scheduleStream(plan), command, contextOf(call));
  call.answeredAt(answer.position);
  if (answer.kind === 'refused') throw alreadyDecided();
};

const setPaused = async (
  services: ScheduleServices,
  type: 'PauseSchedule' | 'ResumeSchedule',
  request: LaunchPlanName,
  call: Call,
): Promise<ScheduleStatus> => {
  const scheduled = await scheduledPlan(services, request);
  await record(services, scheduled.plan, { type, atMs: services.now() }, call);
  return statusNow(services, scheduled);
};

const activeOf = ({ plan, segments }: ScheduledPlan): Segment => {
  const active = activeSegment(segments);
  if (active !== undefined) return active;
  throw new RpcError('FAILED_PRECONDITION', `no version of launch plan ${planText(plan)} is active`);
};

/** The tick of the active version at this second: executions are named by the second. */
const tickNow = ({ now }: ScheduleServices, scheduled: ScheduledPlan): TickId => ({
  atMs: Math.floor(now() / SECOND_MS) * SECOND_MS,
  version: activeOf(scheduled).version,
});

/** A hash of a request's idempotency key and caller; absent where it has no key. */
const requestOf = ({ principal, idempotency }: Call): string | undefined =>
  idempotency && sha256Hex(JSON.stringify([principal, idempotency.key])).slice(0, REQUEST_DIGITS);

/** The tick that a request was answered with before; `undefined` for a request that is new. */
const firedBefore = async (services: ScheduleServices, { plan }: ScheduledPlan, call: Call) => {
  const stream = scheduleStream(plan);
  if ((await recordedBefore(services.sessions, scheduleAggregate, stream, call)) === undefined) return undefined;
  const request = requestOf(call) ?? '';
  return services.sessions.read(scheduleAggregate, stream, ({ state }) => state.requested.get(request));
};

/**
 * Records the tick of a request that is new. When the same request, sent twice at once, has been recorded meanwhile
 * with the tick of another second, the tick is that one.
 */
const newTick = async (services: ScheduleServices, scheduled: ScheduledPlan, call: Call): Promise<ManualTick> => {
  const tick = tickNow(services, scheduled);
  const request = requestOf(call);
  await record(services, scheduled.plan, { type: 'FireByHand', tick, principal: call.principal, request }, call);
  return (await firedBefore(services, scheduled, call)) ?? tick;
};

/**
 * The tick is recorded before it is launched. When the launch throws, or the process ends, the reactor that fires
 * schedules finds the tick open at its next decision on the plan, and launches or skips it as any other open tick. The
 * same request with an idempotency key, sent again, launches it if it is still open.
 */
const fire = async (services: ScheduleServices, request: LaunchPlanName, call: Call) => {
  const scheduled = await scheduledPlan(services, request);
  const { plan } = scheduled;
  const { principal } = call;
  const { outcome: known, ...tick } =
    (await firedBefore(services, scheduled, call)) ?? (await newTick(services, scheduled, call));
  if (known !== undefined)
    return create(ScheduleFireResponseSchema, { tick: outcomeMessage({ ...tick, outcome: known }) });
  const outcome = await services.launcher.launch({ plan, ...tick, principal });
  // Without the idempotency key, which the command for the tick has used.
  await record(services, plan, { type: 'RecordOutcome', tick, outcome }, { ...call, idempotency: undefined });
  return create(ScheduleFireResponseSchema, { tick: outcomeMessage({ ...tick, outcome }) });
};

/** The ticks of the active version. Its expression may be one of an older release that registration refuses today. */
const activeTicks = ({ timezone }: ScheduleServices, plan: LaunchPlanName, active: Segment): Ticks => {
  try {
    return segmentTicks(active, timezone);
  } catch (error) {
    throw new RpcError(
      'FAILED_PRECONDITION',
      `the schedule of launch plan ${planText(plan)} has no ticks: ${errorText(error)}`,
    );
  }
};

type Undecided = { readonly untilMs: number; readonly skips: readonly number[] };

/** The tick that a request wants to skip: the one at its time, or else the next one that is not skipped already. */
const tickToSkip = (
  services: ScheduleServices,
  { plan, active }: { readonly plan: LaunchPlanName; readonly active: Segment },
  { untilMs, skips }: Undecided,
  at: ScheduleSkipRequest['at'],
): number => {
  const ticks = activeTicks(services, plan, active);
  const fromMs = Math.max(active.fromMs, untilMs);
  if (at === undefined) {
    const [next] = nextTicks(ticks, Math.max(fromMs, services.now()), 1, skips);
    if (next !== undefined) return next;
    throw new RpcError('FAILED_PRECONDITION', `launch plan ${planText(plan)} has no next tick`);
  }
  const atMs = timestampMs(at);
  if (atMs <= active.fromMs) throw beforeActivation(active);
  if (atMs <= untilMs) throw alreadyDecided();
  if (ticks.after(atMs - 1) !== atMs) throw invalid('at', 'the schedule has no tick at this time');
  return atMs;
};

/** The tick is decided as any other, when it is due: whichever version is active then, it is skipped. */
const skip = async (services: ScheduleServices, request: ScheduleSkipRequest, call: Call): Promise<ScheduleStatus> => {
  const scheduled = await scheduledPlan(services, request);
  const { plan } = scheduled;
  const stream = scheduleStream(plan);
  if ((await recordedBefore(services.sessions, scheduleAggregate, stream, call)) !== undefined)
    return statusNow(services, scheduled);
  const active = activeOf(scheduled);
  const undecided = await services.sessions.read(scheduleAggregate, stream, ({ state: { untilMs, skips } }) => ({
    untilMs,
    skips,
  }));
  if (undecided.skips.length >= MAX_SKIPS)
    throw new RpcError('RESOURCE_EXHAUSTED', `${MAX_SKIPS} ticks of the schedule are to be skipped already`);
  const atMs = tickToSkip(services, { plan, active }, undecided, request.at);
  await record(services, plan, { type: 'SkipTick', atMs }, call);
  return statusNow(services, scheduled);
};

export const scheduleRoutes = (services: ScheduleServices): readonly Route[] => [
  route(ScheduleService.method.listSchedules, (request) => listSchedules(services, request)),
  route(ScheduleService.method.fireSchedule, (request, call) => fire(services, request, call)),
  route(ScheduleService.method.skipTick, (request, call) => skip(services, request, call)),
  route(ScheduleService.method.pauseSchedule, (request, call) => setPaused(services, 'PauseSchedule', request, call)),
  route(ScheduleService.method.resumeSchedule, (request, call) => setPaused(services, 'ResumeSchedule', request, call)),
];
