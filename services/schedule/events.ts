import {
  type SchedulePaused,
  SchedulePausedSchema,
  type ScheduleResumed,
  ScheduleResumedSchema,
  type ScheduleTickFailed,
  ScheduleTickFailedSchema,
  type ScheduleTickFired,
  ScheduleTickFiredSchema,
  type ScheduleTicksDecided,
  ScheduleTicksDecidedSchema,
  type ScheduleTickSkipped,
  ScheduleTickSkippedSchema,
  type ScheduleTickSkipRequested,
  ScheduleTickSkipRequestedSchema,
} from '../../proto/gen/platformidl/eventlog/schedule_pb.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import type { LaunchPlanName } from '../kernel/identifier.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `schedule-{project}:{domain}:{name}`: one for all versions of a launch plan. */
export const SCHEDULE_CATEGORY = 'schedule';

export type ScheduleEvent =
  | { readonly type: 'ScheduleTicksDecided'; readonly data: ScheduleTicksDecided }
  | { readonly type: 'ScheduleTickFired'; readonly data: ScheduleTickFired }
  | { readonly type: 'ScheduleTickSkipped'; readonly data: ScheduleTickSkipped }
  | { readonly type: 'ScheduleTickFailed'; readonly data: ScheduleTickFailed }
  | { readonly type: 'ScheduleTickSkipRequested'; readonly data: ScheduleTickSkipRequested }
  | { readonly type: 'SchedulePaused'; readonly data: SchedulePaused }
  | { readonly type: 'ScheduleResumed'; readonly data: ScheduleResumed };

export const scheduleStream = ({ project, domain, name }: LaunchPlanName): StreamName =>
  streamName(SCHEDULE_CATEGORY, [project, domain, name]);

export const scheduleCodec = messageCodec<ScheduleEvent>({
  ScheduleTicksDecided: eventShape(ScheduleTicksDecidedSchema),
  ScheduleTickFired: eventShape(ScheduleTickFiredSchema),
  ScheduleTickSkipped: eventShape(ScheduleTickSkippedSchema),
  ScheduleTickFailed: eventShape(ScheduleTickFailedSchema),
  ScheduleTickSkipRequested: eventShape(ScheduleTickSkipRequestedSchema),
  SchedulePaused: eventShape(SchedulePausedSchema),
  ScheduleResumed: eventShape(ScheduleResumedSchema),
});
