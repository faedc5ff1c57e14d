import type { EntityName } from '../kernel/values/entity-name.js';

/** Tells whether a task, workflow or launch plan of a name is registered. */
export interface RegisteredNames {
  /**
   * True when any version of the name is registered.
   *
   * @throws {RpcError} UNAVAILABLE when that cannot be determined at the moment.
   */
  has(entity: EntityName): Promise<boolean>;
}
