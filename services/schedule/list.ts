import { create } from '@bufbuild/protobuf';
import {
  type ScheduleList,
  type ScheduleListRequest,
  ScheduleListSchema,
  type ScheduleStatus,
} from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { StreamParked } from '../kernel/fault.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import { invalid, missing } from '../kernel/rpc.js';
import { scheduleAggregate } from './decider.js';
import { scheduleStream } from './events.js';
import type { ScheduledPlan } from './calendar/segments.js';
import type { Activations } from './calendar/activations.js';
import { parkedStatus, scheduleStatus } from './status.js';

/** Services and settings of reads of schedules. */
export type ScheduleReads = {
  readonly sessions: Sessions;
  readonly activations: Activations;
  /** The time zone of an expression that names none. */
  readonly timezone: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

const MAX_LIMIT = 100;

const limitOf = ({ limit }: ScheduleListRequest): number => {
  if (limit > MAX_LIMIT) throw invalid('limit', `${limit} is above ${MAX_LIMIT}`);
  return limit || MAX_LIMIT;
};

/** A token is the name of the last launch plan of its page. */
const tokenOf = (name: string): string => Buffer.from(name).toString('base64url');
const nameIn = (token: string): string => Buffer.from(token, 'base64url').toString();

/** True for a launch plan whose last active version, active still or deactivated since, has a schedule. */
export const hasSchedule = ({ segments }: ScheduledPlan): boolean => segments.at(-1)?.schedule !== undefined;

const byName = (a: ScheduledPlan, b: ScheduledPlan): number => (a.plan.name < b.plan.name ? -1 : 1);

/** The launch plans with a schedule, in the order of their names, from the one after the token on. */
const selected = (plans: readonly ScheduledPlan[], request: ScheduleListRequest): readonly ScheduledPlan[] => {
  const { project, domain, name, token } = request;
  const after = nameIn(token);
  return plans
    .filter(({ plan }) => plan.project === project && plan.domain === domain)
    .filter(({ plan }) => (name === '' || plan.name === name) && plan.name > after)
    .filter(hasSchedule)
    .sort(byName);
};

export const statusNow = (services: ScheduleReads, scheduled: ScheduledPlan): Promise<ScheduleStatus> => {
  const { sessions, activations, timezone, now } = services;
  const archival = activations.archived(scheduled.plan.project).at(-1);
  const isArchived = archival !== undefined && archival.untilMs === undefined;
  const facts = { ...scheduled, isArchived, timezone, nowMs: now() };
  return sessions.read(scheduleAggregate, scheduleStream(scheduled.plan), ({ state }) => scheduleStatus(state, facts));
};

/** A stream that cannot be read must not hide the other schedules. */
const listedStatus = (services: ScheduleReads, scheduled: ScheduledPlan): Promise<ScheduleStatus> =>
  statusNow(services, scheduled).catch((error: unknown) => {
    if (error instanceof StreamParked) return parkedStatus(scheduled, error);
    throw error;
  });

/**
 * Lists the schedules of a project and domain.
 *
 * @throws {RpcError} INVALID_ARGUMENT for a request that names no project or domain, or a limit above the largest; the
 *   errors of `activations.current`.
 */
export const listSchedules = async (services: ScheduleReads, request: ScheduleListRequest): Promise<ScheduleList> => {
  if (request.project === '') throw missing('project');
  if (request.domain === '') throw missing('domain');
  const limit = limitOf(request);
  await services.activations.current();
  const found = selected(services.activations.plans(), request);
  const page = found.slice(0, limit);
  const schedules = [];
  // One after another: a page must not read a hundred streams at once.
  for (const scheduled of page) schedules.push(await listedStatus(services, scheduled));
  const last = found.length > limit ? page.at(-1) : undefined;
  return create(ScheduleListSchema, { schedules, token: last === undefined ? '' : tokenOf(last.plan.name) });
};
