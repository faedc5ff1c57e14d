import { toBinary } from '@bufbuild/protobuf';

import {
  type DescriptionEntity,
  DescriptionEntitySchema,
  DescriptionFormat,
} from '../../proto/gen/platformidl/admin/description_entity_pb.js';

/** A description stands in the event of its version, whose other parts take room too. */
const MAX_BYTES = 256 * 1024;

/** What is wrong with what an author says about a version: too much of it, or in a format that there is not. */
export const descriptionProblem = (description: DescriptionEntity | undefined): string | undefined => {
  if (description === undefined) return undefined;
  const format = description.longDescription?.format ?? DescriptionFormat.UNKNOWN;
  if (!Object.hasOwn(DescriptionFormat, format))
    return `invalid value for spec.description.long_description.format: ${String(format)} is not a format`;
  if (toBinary(DescriptionEntitySchema, description).length > MAX_BYTES)
    return `spec.description cannot exceed ${MAX_BYTES} bytes`;
  return undefined;
};
