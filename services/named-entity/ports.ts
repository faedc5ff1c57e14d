import type { EntityName } from '../kernel/entity-name.js';

/** What is registered, as far as a note of a name asks. */
export interface RegisteredNames {
  /**
   * Whether any version of the name is registered, now.
   *
   * @throws {RpcError} UNAVAILABLE when that cannot be said at the moment.
   */
  has(entity: EntityName): Promise<boolean>;
}
