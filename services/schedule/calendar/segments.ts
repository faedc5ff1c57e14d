import type { Schedule } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import type { LaunchPlanName } from '../../kernel/identifier.js';

/** A period between two instants, both in milliseconds since 1970; without `untilMs` it has not ended. */
export type Span = { readonly fromMs: number; readonly untilMs?: number };

/**
 * A period in which one version of a launch plan was active. The version fires the ticks after the beginning of the
 * period, up to and including its end.
 */
export type Segment = Span & {
  readonly version: string;
  /** Absent for a version without a schedule. */
  readonly schedule: Schedule | undefined;
  /** The principal that activated the version. */
  readonly principal: string;
  /** True when a deactivation of the launch plan ended the period, and not the activation of a version. */
  readonly isDeactivated?: boolean;
};

/** A launch plan that was ever active, and the segments of its versions, in the order of time. */
export type ScheduledPlan = { readonly plan: LaunchPlanName; readonly segments: readonly Segment[] };

/** An activation of a version, or a deactivation (without `version`), at the recorded time. */
export type Activation = { readonly atMs: number } & (
  | { readonly version: string; readonly schedule: Schedule | undefined; readonly principal: string }
  | { readonly version?: undefined }
);

const endedAt = (segment: Segment, { atMs, version }: Activation): Segment =>
  segment.untilMs === undefined ? { ...segment, untilMs: atMs, isDeactivated: version === undefined } : segment;

/**
 * Ends the last segment, unless it has ended, and adds the segment of the activation; a deactivation adds none. An
 * activation drops the last segment if it has no schedule, because it has no ticks: most launch plans have no schedule
 * and are activated often.
 */
export const withActivation = (segments: readonly Segment[], activation: Activation): readonly Segment[] => {
  const last = segments.at(-1);
  const before = segments.slice(0, -1);
  const ended = last ? [endedAt(last, activation)] : [];
  if (activation.version === undefined) return [...before, ...ended];
  const { version, schedule, principal, atMs } = activation;
  return [...before, ...(last?.schedule ? ended : []), { fromMs: atMs, version, schedule, principal }];
};

export const activeSegment = (segments: readonly Segment[]): Segment | undefined => {
  const last = segments.at(-1);
  return last?.untilMs === undefined ? last : undefined;
};

/** True for an instant after the beginning of a span, up to and including its end. */
export const isWithin = ({ fromMs, untilMs = Infinity }: Span, instantMs: number): boolean =>
  instantMs > fromMs && instantMs <= untilMs;
