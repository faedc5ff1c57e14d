import {
  type LaunchPlanActivated,
  LaunchPlanActivatedSchema,
  type LaunchPlanDeactivated,
  LaunchPlanDeactivatedSchema,
  type LaunchPlanRegistered,
  LaunchPlanRegisteredSchema,
} from '../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';
import type { LaunchPlanName } from '../kernel/identifier.js';

/** The category of the streams, `launchPlan-{project}:{domain}:{name}`: one for all versions of a name. */
export const LAUNCH_PLAN_CATEGORY = 'launchPlan';

export type LaunchPlanEvent =
  | { readonly type: 'LaunchPlanRegistered'; readonly data: LaunchPlanRegistered }
  | { readonly type: 'LaunchPlanActivated'; readonly data: LaunchPlanActivated }
  | { readonly type: 'LaunchPlanDeactivated'; readonly data: LaunchPlanDeactivated };

export const launchPlanStream = ({ project, domain, name }: LaunchPlanName): StreamName =>
  streamName(LAUNCH_PLAN_CATEGORY, [project, domain, name]);

export const launchPlanCodec = messageCodec<LaunchPlanEvent>({
  LaunchPlanRegistered: eventShape(LaunchPlanRegisteredSchema, ({ spec }) => [spec]),
  LaunchPlanActivated: eventShape(LaunchPlanActivatedSchema),
  LaunchPlanDeactivated: eventShape(LaunchPlanDeactivatedSchema),
});
