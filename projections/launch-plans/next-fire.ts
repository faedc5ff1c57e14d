import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';

import { LaunchPlanSchema } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { fieldBytes } from '../../services/kernel/encoding/field-bytes.js';

/** Tells when the schedule of a version fires next, in milliseconds since 1970. */
export type NextFire = (id: Identifier) => number | undefined;

const ID = LaunchPlanSchema.field.id.number;

/**
 * Adds the next fire time to an encoded launch plan. It is not part of the view, because it changes with the clock. In
 * an encoded message, a closure that stands behind another one is merged into it.
 */
export const withNextFire = (plan: Uint8Array, nextFire: NextFire): Uint8Array => {
  const { id } = fromBinary(LaunchPlanSchema, fieldBytes(plan, ID));
  const atMs = id && nextFire(id);
  if (atMs === undefined) return plan;
  const addition = create(LaunchPlanSchema, { closure: { nextFireAt: timestampFromMs(atMs) } });
  return Buffer.concat([plan, toBinary(LaunchPlanSchema, addition)]);
};
