import type { EntityName } from '../kernel/entity-name.js';

/** The registered names, as far as an update of a name needs them. */
export interface RegisteredNames {
  /**
   * Tells whether any version of the name is registered now.
   *
   * @throws {RpcError} UNAVAILABLE when that cannot be determined at the moment.
   */
  has(entity: EntityName): Promise<boolean>;
}
