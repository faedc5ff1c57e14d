import { toBinary } from '@bufbuild/protobuf';

import {
  type DescriptionEntity,
  DescriptionEntitySchema,
  DescriptionFormat,
} from '../../proto/gen/platformidl/admin/description_entity_pb.js';

/**
 * The largest description, in bytes: it is stored inline in the event of its version, together with the other fields.
 */
const MAX_BYTES = 256 * 1024;

/**
 * Checks the description of a version: its size and its format.
 *
 * @returns the problem; `undefined` when there is none.
 */
export const descriptionProblem = (description: DescriptionEntity | undefined): string | undefined => {
  if (description === undefined) return undefined;
  const format = description.longDescription?.format ?? DescriptionFormat.UNKNOWN;
  if (!Object.hasOwn(DescriptionFormat, format))
    return `invalid value for spec.description.long_description.format: ${String(format)} is not a format`;
  if (toBinary(DescriptionEntitySchema, description).length > MAX_BYTES)
    return `spec.description cannot exceed ${MAX_BYTES} bytes`;
  return undefined;
};
