import type { NamedEntityState } from '../../proto/gen/platformidl/admin/common_pb.js';
import type { EntityName } from '../kernel/values/entity-name.js';

/**
 * Sets the description and state of a name. An empty description leaves the stored one unchanged; the state is always
 * replaced.
 */
export type UpdateNamedEntity = {
  readonly entity: EntityName;
  /** True when a version of this name is registered. Versions are permanent, so `true` stays valid. */
  readonly isRegistered: boolean;
  readonly description: string;
  readonly state: NamedEntityState;
};
