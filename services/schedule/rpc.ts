import { create } from '@bufbuild/protobuf';
import {
  ScheduleFireResponseSchema,
  ScheduleService,
  type ScheduleStatus,
} from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { contextOf, recordedBefore } from '../kernel/command-context.js';
import { type Call, missing, type Route, route, RpcError } from '../kernel/rpc.js';
import { activeSegment } from './calendar/segments.js';
import type { ScheduleCommand, TickId } from './commands.js';
import { scheduleAggregate } from './decider.js';
import { type PlanName, scheduleStream } from './events.js';
import { isScheduled, listSchedules, type ScheduleReads, statusNow } from './list.js';
import type { Launcher, ScheduledPlan } from './ports.js';
import { outcomeMessage } from './status.js';

export type ScheduleServices = ScheduleReads & { readonly launcher: Launcher };

const SECOND_MS = 1_000;

const text = ({ project, domain, name }: PlanName): string => `${project}/${domain}/${name}`;

/** Finds a launch plan with a schedule by its name. */
const scheduledPlan = async ({ activations }: ScheduleServices, request: PlanName): Promise<ScheduledPlan> => {
  const { project, domain, name } = request;
  for (const field of ['project', 'domain', 'name'] as const) if (request[field] === '') throw missing(field);
  await activations.current();
  const plan = { project, domain, name };
  const scheduled = { plan, segments: activations.of(plan) };
  if (isScheduled(scheduled)) return scheduled;
  throw new RpcError('NOT_FOUND', `launch plan ${text(request)} has no schedule, or was never active`);
};

const record = async (
  { sessions }: ScheduleServices,
  plan: PlanName,
  command: ScheduleCommand,
  call: Call,
): Promise<void> => {
  const { position } = await sessions.handle(scheduleAggregate, scheduleStream(plan), command, contextOf(call));
  call.answeredAt(position);
};

const setPaused = async (
  services: ScheduleServices,
  type: 'PauseSchedule' | 'ResumeSchedule',
  request: PlanName,
  call: Call,
): Promise<ScheduleStatus> => {
  const scheduled = await scheduledPlan(services, request);
  await record(services, scheduled.plan, { type, atMs: services.now() }, call);
  return statusNow(services, scheduled);
};

/** The tick of the active version at this second: executions are named by the second. */
const tickNow = ({ now }: ScheduleServices, { plan, segments }: ScheduledPlan): TickId => {
  const active = activeSegment(segments);
  if (active === undefined)
    throw new RpcError('FAILED_PRECONDITION', `no version of launch plan ${text(plan)} is active`);
  return { atMs: Math.floor(now() / SECOND_MS) * SECOND_MS, version: active.version };
};

/**
 * The tick is recorded before it is launched. When the launch fails, or the process ends, the reactor that fires
 * schedules finds the tick open and launches it when it looks at the plan next.
 */
const fire = async (services: ScheduleServices, request: PlanName, call: Call) => {
  const scheduled = await scheduledPlan(services, request);
  const { plan } = scheduled;
  const { principal } = call;
  const before = await recordedBefore(services.sessions, scheduleAggregate, scheduleStream(plan), call);
  if (before !== undefined)
    throw new RpcError('ALREADY_EXISTS', 'fired before under this idempotency key; ListSchedules has the outcome');
  const tick = tickNow(services, scheduled);
  await record(services, plan, { type: 'FireByHand', tick, principal }, call);
  const outcome = await services.launcher.launch({ plan, ...tick, principal });
  // Without the idempotency key, which stands for the tick.
  await record(services, plan, { type: 'RecordOutcome', tick, outcome }, { ...call, idempotency: undefined });
  return create(ScheduleFireResponseSchema, { tick: outcomeMessage({ ...tick, outcome }) });
};

export const scheduleRoutes = (services: ScheduleServices): readonly Route[] => [
  route(ScheduleService.method.listSchedules, (request) => listSchedules(services, request)),
  route(ScheduleService.method.fireSchedule, (request, call) => fire(services, request, call)),
  route(ScheduleService.method.pauseSchedule, (request, call) => setPaused(services, 'PauseSchedule', request, call)),
  route(ScheduleService.method.resumeSchedule, (request, call) => setPaused(services, 'ResumeSchedule', request, call)),
];
