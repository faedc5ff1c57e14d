import type { DescriptionEntity } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import type { Version } from '../kernel/identifier.js';

export type RegisterTask = {
  readonly id: Version;
  /** `core.CompiledTask`. */
  readonly compiled: Uint8Array;
  /** The digest of the compiled task in canonical form. */
  readonly digest: Uint8Array;
  readonly taskType: string;
  readonly description: DescriptionEntity | undefined;
};
