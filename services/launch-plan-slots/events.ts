import {
  type SlotReleased,
  SlotReleasedSchema,
  type SlotTaken,
  SlotTakenSchema,
} from '../../proto/gen/platformidl/eventlog/launch_plan_slots_pb.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';
import type { LaunchPlanName } from '../kernel/identifier.js';

/** The category of the streams, `launchPlanSlots-{project}:{domain}:{name}`: one for all versions of a name. */
export const SLOTS_CATEGORY = 'launchPlanSlots';

export type SlotsEvent =
  | { readonly type: 'SlotTaken'; readonly data: SlotTaken }
  | { readonly type: 'SlotReleased'; readonly data: SlotReleased };

export const slotsStream = ({ project, domain, name }: LaunchPlanName): StreamName =>
  streamName(SLOTS_CATEGORY, [project, domain, name]);

export const slotsCodec = messageCodec<SlotsEvent>({
  SlotTaken: eventShape(SlotTakenSchema),
  SlotReleased: eventShape(SlotReleasedSchema),
});
