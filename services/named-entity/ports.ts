import type { EntityName } from '../kernel/entity-name.js';

/** Looks up the registered versions of a name. */
export interface RegisteredNames {
  /**
   * True when any version of the name is registered.
   *
   * @throws {RpcError} UNAVAILABLE when that cannot be determined at the moment.
   */
  has(entity: EntityName): Promise<boolean>;
}
