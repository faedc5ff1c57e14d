import type { NamedEntityState } from '../../proto/gen/platformidl/admin/common_pb.js';
import type { EntityName } from '../kernel/entity-name.js';

/** Notes something of a name. An empty description leaves the one that is there; the state is always the one given. */
export type UpdateNamedEntity = {
  readonly entity: EntityName;
  /** Whether there is a version of this name: what was registered stays, so the answer cannot go out of date. */
  readonly isRegistered: boolean;
  readonly description: string;
  readonly state: NamedEntityState;
};
