import { Project_ProjectState as ProjectState } from '../../proto/gen/platformidl/admin/project_pb.js';
import { decodeEvent, recordedMetadata } from '../kernel/decode-event.js';
import type { RecordedEvent } from '../kernel/event.js';
import { type OnParked, parkableFold } from '../kernel/log-readers/parkable-fold.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { RpcError } from '../kernel/rpc.js';
import type { StreamName } from '../kernel/stream.js';
import { LAUNCH_PLAN_CATEGORY, launchPlanCodec, launchPlanStream } from '../launch-plan/events.js';
import { PROJECT_CATEGORY, projectCodec } from '../project/events.js';
import { type ScheduledPlan, type Segment, type Span, withActivation } from '../schedule/calendar/segments.js';
import { scheduleStream } from '../schedule/events.js';
import { followFolds } from './live-folds.js';
import { HOLD_TYPES, NO_HOLDS, type ScheduleHolds, scheduleHolds } from './schedule-holds.js';
import type { LaunchPlanName } from '../kernel/identifier.js';

/** The periods in which versions of launch plans were active and projects were not, folded live from the log. */
export interface Activations {
  /** The plans that were ever active; see `of` for their segments. */
  plans(): readonly ScheduledPlan[];
  /**
   * The periods in which versions of a plan were active, in the order of time. When another version has become active,
   * the segment of a version without a schedule is dropped.
   */
  of(plan: LaunchPlanName): readonly Segment[];
  /** The pause and the skips of a launch plan's schedule. */
  holds(plan: LaunchPlanName): ScheduleHolds;
  /** The periods in which a project was archived, or otherwise not active; the last one may not have ended. */
  archived(project: string): readonly Span[];
  /**
   * Waits until everything that was recorded before the call is folded.
   *
   * @throws {RpcError} UNAVAILABLE when that takes more than 5 seconds or the activations are closed;
   * RESOURCE_EXHAUSTED when too many calls wait.
   * @throws {StoreUnavailable} when the log cannot be read.
   */
  current(): Promise<void>;
  /** Folds the rest of a stream that was parked; does nothing for another one. */
  resume(stream: StreamName): Promise<void>;
  /**
   * Calls `listener` with each plan whose activation changes, and with all plans of a project that is archived or
   * becomes active again.
   *
   * @returns a function that ends the calls.
   */
  onChange(listener: (plan: LaunchPlanName) => void): () => void;
  /** Rejects when the subscription to the log has failed and does not continue. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

const TYPES: ReadonlySet<string> = new Set([
  ...['LaunchPlanActivated', 'LaunchPlanDeactivated', 'ProjectRegistered', 'ProjectUpdated'],
  ...HOLD_TYPES,
]);
const WAIT_MS = 5_000;

const activationFold = (changed: (plan: LaunchPlanName) => void) => {
  const plans = new Map<string, ScheduledPlan>();
  return {
    plans,
    category: LAUNCH_PLAN_CATEGORY,
    fold: (event: RecordedEvent): void => {
      const { type, data } = decodeEvent(launchPlanCodec, event);
      if (type === 'LaunchPlanRegistered' || data.id === undefined) return;
      const { project, domain, name, version } = data.id;
      const plan = { project, domain, name };
      const { recordedAtMs: atMs, actor: principal } = recordedMetadata(event);
      const activation =
        type === 'LaunchPlanActivated' ? { atMs, version, schedule: data.schedule, principal } : { atMs };
      const segments = withActivation(plans.get(event.stream)?.segments ?? [], activation);
      plans.set(event.stream, { plan, segments });
      changed(plan);
    },
  };
};

const archivalFold = (changed: (project: string) => void) => {
  const spans = new Map<string, readonly Span[]>();
  return {
    spans,
    category: PROJECT_CATEGORY,
    fold: (event: RecordedEvent): void => {
      const { project } = decodeEvent(projectCodec, event).data;
      if (project === undefined) return;
      const before = spans.get(project.id) ?? [];
      const wasArchived = before.length > 0 && before.at(-1)?.untilMs === undefined;
      const isArchived = project.state !== ProjectState.ACTIVE;
      if (wasArchived === isArchived) return;
      const { recordedAtMs: atMs } = recordedMetadata(event);
      const ended = before.map((span) => (span.untilMs === undefined ? { ...span, untilMs: atMs } : span));
      spans.set(project.id, isArchived ? [...ended, { fromMs: atMs }] : ended);
      changed(project.id);
    },
  };
};

/** Folds the activations of a log from its beginning. The caller closes it. */
export const followActivations = (
  log: EventLog,
  { onParked, advancesOverAll }: { readonly onParked: OnParked; readonly advancesOverAll: boolean },
): Activations => {
  const listeners = new Set<(plan: LaunchPlanName) => void>();
  const changed = (plan: LaunchPlanName): void => listeners.forEach((listener) => listener(plan));
  const activations = activationFold(changed);
  const projects = archivalFold((project) => {
    for (const { plan } of activations.plans.values()) if (plan.project === project) changed(plan);
  });
  const schedules = scheduleHolds();
  const folds = [activations, projects, schedules].map(({ category, fold }) => ({
    category,
    ...parkableFold((event) => (TYPES.has(event.type) ? fold(event) : undefined), onParked),
  }));
  const following = followFolds(log, folds, { advancesOverAll, types: [...TYPES] });
  return {
    plans: () => [...activations.plans.values()],
    of: (plan) => activations.plans.get(launchPlanStream(plan))?.segments ?? [],
    holds: (plan) => schedules.holds.get(scheduleStream(plan)) ?? NO_HOLDS,
    archived: (project) => projects.spans.get(project) ?? [],
    current: async () => {
      if (await following.reached(await log.head(), WAIT_MS)) return;
      throw new RpcError('UNAVAILABLE', 'the activations of launch plans are behind the log; retry later');
    },
    resume: async (stream) => {
      await Promise.all(folds.map((each) => each.resume(stream, log)));
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    ended: following.ended,
    close: () => following.close(),
  };
};
