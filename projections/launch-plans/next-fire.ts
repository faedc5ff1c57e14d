import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';

import { LaunchPlanSchema } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { fieldBytes } from '../../services/kernel/encoding/field-bytes.js';

/** The time at which the schedule of a version fires next, in milliseconds since 1970; `undefined` when it does not. */
export type NextFire = (id: Identifier) => number | undefined;

const ID = LaunchPlanSchema.field.id.number;

/**
 * Adds the next fire time to an encoded launch plan. It is not part of the view, because it changes with the clock. It
 * is appended as a second closure, which Protobuf decoders merge into the first.
 */
export const withNextFire = (plan: Uint8Array, nextFire: NextFire): Uint8Array => {
  const { id } = fromBinary(LaunchPlanSchema, fieldBytes(plan, ID));
  const atMs = id && nextFire(id);
  if (atMs === undefined) return plan;
  const addition = create(LaunchPlanSchema, { closure: { nextFireAt: timestampFromMs(atMs) } });
  return Buffer.concat([plan, toBinary(LaunchPlanSchema, addition)]);
};
